import { multiply } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { concatenate, expandDimension } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type Attention, type DecoderParts, decoderBody } from "./decoder.ts";
import { embeddingName, headName } from "./parameters.ts";
import { sequenceInputs } from "./sequence-inputs.ts";
import { trainingAttention } from "./training-attention.ts";

/**
 * Reads whole prompts. Inputs: the sequence inputs of {@link sequenceInputs}, `rows` (sequences): the last token of
 * each, and `inverseTemperature` (sequences, 1). Outputs: `probabilities` (sequences, vocabulary) of the next token,
 * and `keys`, `values` (layers, tokens, keyValueHeads x headSize) for the cache.
 */
export function buildPrefillGraph(graph: Graph, parts: DecoderParts): void {
  const { ids, rotary, layout, mask } = sequenceInputs(graph, parts.config);
  const attend = trainingAttention(parts.config, { layout, mask });
  const keys: Tensor[] = [];
  const values: Tensor[] = [];
  const attention: Attention = (inputs) => {
    keys.push(expandDimension(inputs.keys, 0));
    values.push(expandDimension(inputs.values, 0));
    return attend(inputs);
  };
  const hidden = decoderBody(parts, { ids, rotary, attention });
  const last = gatherRows(hidden, graph.input("rows", "int32", ["sequences"]));
  outputProbabilities(graph, parts, last, "sequences");
  graph.output("keys", concatenate(keys, 0, parts.config.layers));
  graph.output("values", concatenate(values, 0, parts.config.layers));
}

/** Outputs softmax(head(hidden) / temperature) as `probabilities`; reads `inverseTemperature` (rows, 1). */
export function outputProbabilities(graph: Graph, parts: DecoderParts, hidden: Tensor, rows: string): void {
  const head = parts.parameters.tensor(parts.config.tiedEmbeddings ? embeddingName : headName);
  const scaled = multiply(hidden, graph.input("inverseTemperature", "float32", [rows, 1]));
  graph.output("probabilities", softmax(matrixProduct(scaled, head, { transposeB: true })));
}
