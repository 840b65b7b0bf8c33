import type { DecoderConfig } from "../architecture/decoder-config.ts";
import { type BlockLayer, groupsOf } from "../architecture/linear-groups.ts";
import { moduleName, type ParameterSpec } from "../architecture/parameters.ts";

/** The linear layers of a block, which adapters can sit on. */
export function adaptableLayers(config: DecoderConfig): readonly BlockLayer[] {
  return groupsOf(config.linear).flatMap(({ layers }) => layers);
}

/**
 * The names that targets of adapters can have: the last part of a layer's name, such as `c_proj` of GPT-2's two, or the
 * name within the block, such as `mlp.c_proj`.
 */
export function targetNames(config: DecoderConfig): readonly string[] {
  const names = adaptableLayers(config).map(({ name }) => name);
  return [...new Set([...names.map(lastPart), ...names])];
}

/** Whether a layer of a block is among some targets, as peft matches names. */
export function isTarget({ name }: Pick<BlockLayer, "name">, targets: readonly string[]): boolean {
  return targets.some((target) => name === target || name.endsWith(`.${target}`));
}

/** The targets that stand for some layers of a block, in the shortest names. */
export function shortestTargets(config: DecoderConfig, layers: readonly Pick<BlockLayer, "name">[]): string[] {
  const chosen = new Set(layers.map(({ name }) => name));
  const byLastPart = Map.groupBy(
    adaptableLayers(config).map(({ name }) => name),
    lastPart,
  );
  return [...byLastPart].flatMap(([last, names]) => {
    const among = names.filter((name) => chosen.has(name));
    return among.length === names.length ? [last] : among;
  });
}

/**
 * The linear layers whose weights are so few, beside so many tokens, that adapters are better added to the weights than
 * to what comes out: no more inputs than tokens, or no more outputs. The sums then take no more memory than the tokens
 * of the wider side, and less time than their additions, forward and backward.
 */
export function layersWithFewWeights(config: DecoderConfig, tokens: number): string[] {
  return adaptableLayers(config)
    .filter(({ inputs, outputs }) => Math.min(inputs, outputs) <= tokens)
    .map(({ name }) => name);
}

/** Name of the half of a module's adapter that reads its input: (rank, inputs). */
export function loraA(module: string): string {
  return `${module}.lora_A.weight`;
}

/** Name of the half of a module's adapter that writes to its output: (outputs, rank). */
export function loraB(module: string): string {
  return `${module}.lora_B.weight`;
}

/** Name of the dropout mask on the input of a module's adapter: (tokens, 32-bit words). */
export function loraDropout(module: string): string {
  return `${module}.lora_dropout`;
}

/** The dropout masks of the adapters among some parameters, and how many inputs each masks. */
export function adapterInputs(specs: readonly ParameterSpec[]): { readonly name: string; readonly inputs: number }[] {
  return specs
    .filter(({ name }) => name.endsWith(".lora_A.weight"))
    .map(({ name, shape }) => ({ name: name.replace(/lora_A\.weight$/, "lora_dropout"), inputs: shape[1]! }));
}

/**
 * The parameters of an adapter, in storage order, on every linear layer by default. B starts at zero, so that a new
 * adapter changes nothing; A is drawn with variance 1 / (3 inputs), the value that PEFT's default initialization has.
 */
export function loraParameters(
  config: DecoderConfig,
  lora: { readonly rank: number; readonly targets?: readonly string[] | undefined },
): ParameterSpec[] {
  const specs: ParameterSpec[] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const { layers } of groupsOf(config.linear)) {
      const adapted = lora.targets === undefined ? layers : layers.filter((each) => isTarget(each, lora.targets!));
      for (const { name, inputs } of adapted) {
        specs.push({ name: loraA(moduleName(config, layer, name)), shape: [lora.rank, inputs], initial: "normal" });
      }
      for (const { name, outputs } of adapted) {
        specs.push({ name: loraB(moduleName(config, layer, name)), shape: [outputs, lora.rank], initial: "zeros" });
      }
    }
  }
  return specs;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
