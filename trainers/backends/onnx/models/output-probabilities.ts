import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { headName } from "../../../model-folders/architecture/parameters.ts";
import { multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { softmax } from "../graph/neural.ts";
import type { Weight } from "../graph/quantized-weight.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { GraphParameters } from "./graph-parameters.ts";

/**
 * Adds the output `probabilities`: softmax(head(hidden) / temperature). Reads the input `inverseTemperature` (rows, 1).
 */
export function outputProbabilities(
  graph: Graph,
  parts: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  inputs: {
    readonly hidden: Tensor;
    readonly rows: string;
    /** Computes x weight^T. */
    readonly product: (x: Tensor, weight: Weight) => Tensor;
  },
): void {
  const weight = parts.parameters.weight(headName(parts.config));
  const scaled = multiply(inputs.hidden, graph.input("inverseTemperature", "float32", [inputs.rows, 1]));
  graph.output("probabilities", softmax(inputs.product(scaled, weight)));
}
