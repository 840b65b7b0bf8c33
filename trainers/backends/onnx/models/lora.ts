import type { LoraTarget } from "../../../backend/training-backend.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { attentionInputs, mlpInputs, moduleName, type ParameterSpec, projectionShape } from "./parameters.ts";

/** Every linear layer that an adapter can sit on. */
export const loraTargets: readonly LoraTarget[] = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
];

/**
 * The linear layers whose weights are so few, beside so many tokens, that adapters are better added to the weights than
 * to what comes out: no more inputs than tokens, or no more outputs. The sums then take no more memory than the tokens
 * of the wider side, and less time than their additions, forward and backward.
 */
export function layersWithFewWeights(config: DecoderConfig, tokens: number): LoraTarget[] {
  return loraTargets.filter((projection) => Math.min(...projectionShape(config, projection)) <= tokens);
}

/** Name of the half of an adapter that reads the layer's input: (rank, inputs). */
export function loraA(layer: number, projection: string): string {
  return `${moduleName(layer, projection)}.lora_A.weight`;
}

/** Name of the half of an adapter that writes to the layer's output: (outputs, rank). */
export function loraB(layer: number, projection: string): string {
  return `${moduleName(layer, projection)}.lora_B.weight`;
}

/** Name of the dropout mask on the input of an adapter: (tokens, 32-bit words). */
export function loraDropout(layer: number, projection: string): string {
  return `${moduleName(layer, projection)}.lora_dropout`;
}

/** The dropout masks of the adapters among some parameters, and how many inputs each masks. */
export function adapterInputs(specs: readonly ParameterSpec[]): { readonly name: string; readonly inputs: number }[] {
  return specs
    .filter(({ name }) => name.endsWith(".lora_A.weight"))
    .map(({ name, shape }) => ({ name: name.replace(/lora_A\.weight$/, "lora_dropout"), inputs: shape[1]! }));
}

/**
 * The parameters of an adapter, in storage order. B starts at zero, so that a new adapter changes nothing; A is
 * drawn with variance 1 / (3 inputs), the value that PEFT's default initialization has.
 */
export function loraParameters(
  config: DecoderConfig,
  lora: { readonly rank: number; readonly targets?: readonly LoraTarget[] | undefined },
): ParameterSpec[] {
  const targets = new Set<string>(lora.targets ?? loraTargets);
  const specs: ParameterSpec[] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const group of [attentionInputs, ["o_proj"], mlpInputs, ["down_proj"]]) {
      const adapted = group.filter((projection) => targets.has(projection));
      for (const projection of adapted) {
        const inputs = projectionShape(config, projection)[1];
        specs.push({ name: loraA(layer, projection), shape: [lora.rank, inputs], initial: "normal" });
      }
      for (const projection of adapted) {
        const outputs = projectionShape(config, projection)[0];
        specs.push({ name: loraB(layer, projection), shape: [outputs, lora.rank], initial: "zeros" });
      }
    }
  }
  return specs;
}
