import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import type { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { squeeze } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DecoderParts } from "./decoder.ts";
import type { ParameterBlock } from "./parameter-block.ts";

/** The names of the value head's weights, (1, hiddenSize), and bias, (1). */
export const valueWeightName = "value_head.weight";
export const valueBiasName = "value_head.bias";

/**
 * Returns the parameters of a value head, which computes one number from the final normed hidden state. They start at
 * zero, so an untrained head returns 0 for every state. They are stored after the other trained parameters.
 */
export function valueHeadParameters(config: DecoderConfig): ParameterSpec[] {
  return [
    { name: valueWeightName, shape: [1, config.hiddenSize], initial: "zeros" },
    { name: valueBiasName, shape: [1], initial: "zeros" },
  ];
}

/** Computes the value of each state, (rows), from its final normed hidden state, (rows, hiddenSize). */
export function stateValues(hidden: Tensor, weight: Tensor, bias: Tensor): Tensor {
  return squeeze(matrixProduct(hidden, weight, { transposeB: true, addend: bias }), 1);
}

/** Adds the output `stateValues` (rows) if the trained block (the adapter, or else the base) has a value head. */
export function outputStateValues(graph: Graph, { parameters, adapter }: DecoderParts, hidden: Tensor): void {
  const trained = adapter?.parameters ?? parameters;
  if (!trained.has(valueWeightName)) return;
  graph.output("stateValues", stateValues(hidden, trained.tensor(valueWeightName), trained.tensor(valueBiasName)));
}

/** True if the parameter belongs to the value head. */
export function isValueHeadParameter(name: string): boolean {
  return name === valueWeightName || name === valueBiasName;
}

/** True if the block has a value head. */
export function hasValueHead(block: Pick<ParameterBlock, "has">): boolean {
  return block.has(valueWeightName);
}
