import { multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { softmax } from "../graph/neural.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { GraphParameters } from "./graph-parameters.ts";
import { embeddingName, headName } from "./parameters.ts";
import { productByWeights, productWithWeights } from "./weight-products.ts";

/** Outputs softmax(head(hidden) / temperature) as `probabilities`; reads `inverseTemperature` (rows, 1). */
export function outputProbabilities(
  graph: Graph,
  parts: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  { hidden, rows, weightsFirst }: { readonly hidden: Tensor; readonly rows: string; readonly weightsFirst?: boolean },
): void {
  const head = parts.parameters.tensor(parts.config.tiedEmbeddings ? embeddingName : headName);
  const scaled = multiply(hidden, graph.input("inverseTemperature", "float32", [rows, 1]));
  const product = weightsFirst === true ? productByWeights : productWithWeights;
  graph.output("probabilities", softmax(product(scaled, head)));
}
