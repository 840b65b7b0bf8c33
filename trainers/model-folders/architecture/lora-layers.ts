import { unknownNameError } from "../../../src/contract/errors/index.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { type BlockLayer, groupsOf } from "./linear-groups.ts";
import { moduleName, type ParameterSpec } from "./parameters.ts";

/** Returns the linear layers of a block, which can have adapters. */
export function adaptableLayers(config: DecoderConfig): readonly BlockLayer[] {
  return groupsOf(config.linear).flatMap(({ layers }) => layers);
}

/**
 * Returns the valid target names of adapters: the last part of a layer's name (such as `c_proj`, which matches two
 * layers of GPT-2) or the name within the block (such as `mlp.c_proj`).
 */
function targetNames(config: DecoderConfig): readonly string[] {
  const names = adaptableLayers(config).map(({ name }) => name);
  return [...new Set([...names.map(lastPart), ...names])];
}

/** Throws `config.unknown-name` for a target that is no linear layer of the model. */
export function checkTargets(config: DecoderConfig, targets: readonly string[] = []): void {
  const known = targetNames(config);
  const unknown = targets.find((target) => !known.includes(target));
  if (unknown !== undefined) throw unknownNameError({ kind: "adapter target", name: unknown, known });
}

/** True if a layer of a block matches one of the targets, by the rules of peft. */
export function isTarget({ name }: Pick<BlockLayer, "name">, targets: readonly string[]): boolean {
  return targets.some((target) => name === target || name.endsWith(`.${target}`));
}

/** Returns the shortest target names for some layers of a block. */
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
 * Returns the linear layers whose adapters are better added to the weights than to the outputs: those with at most as
 * many inputs, or outputs, as there are tokens. The sums then need no more memory than the tokens of the wider side,
 * and less time than additions to the outputs, forward and backward.
 */
export function layersWithFewWeights(config: DecoderConfig, tokens: number): string[] {
  return adaptableLayers(config)
    .filter(({ inputs, outputs }) => Math.min(inputs, outputs) <= tokens)
    .map(({ name }) => name);
}

/** Returns the name of the A half of a module's adapter: (rank, inputs). */
export function loraA(module: string): string {
  return `${module}.lora_A.weight`;
}

/** Returns the name of the B half of a module's adapter: (outputs, rank). */
export function loraB(module: string): string {
  return `${module}.lora_B.weight`;
}

/** Returns the name of the dropout mask of a module's adapter: (tokens, 32-bit words). */
export function loraDropout(module: string): string {
  return `${module}.lora_dropout`;
}

/** Returns the dropout masks of the adapters in a list of parameters, with the number of inputs that each masks. */
export function adapterInputs(specs: readonly ParameterSpec[]): { readonly name: string; readonly inputs: number }[] {
  return specs
    .filter(({ name }) => name.endsWith(".lora_A.weight"))
    .map(({ name, shape }) => ({ name: name.replace(/lora_A\.weight$/, "lora_dropout"), inputs: shape[1]! }));
}

/**
 * Returns the parameters of an adapter, in storage order, by default for every linear layer. B starts at zero, so a new
 * adapter has no effect. A is sampled with variance 1 / (3 inputs), as in PEFT's default initialization.
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
