import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { weightProduct } from "../graph/quantized-weight.ts";
import { concatenate } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { continuedAttention } from "./continued-attention.ts";
import { type Attention, type DecoderParts, decoderBody } from "./decoder.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { sequenceInputs } from "./sequence-inputs.ts";
import { trainingAttention } from "./training-attention.ts";
import { outputStateValues } from "./value-head.ts";

/**
 * Builds a graph that reads prompts: whole ones, or what follows their cached beginnings if `continued`. Inputs: the
 * sequence inputs of {@link sequenceInputs}, those of {@link continuedAttention} if `continued`, `rows` (sequences), which
 * is the last token of each prompt, and `inverseTemperature` (sequences, 1). Outputs: `probabilities` (sequences,
 * vocabulary) of the next token, `keys` and `values` (tokens, layers x keyValueHeads x headSize) for the cache, and
 * `stateValues` (sequences) if there is a value head.
 */
export function buildPrefillGraph(
  graph: Graph,
  parts: DecoderParts,
  { continued }: { readonly continued: boolean },
): void {
  const { ids, positions, layout, maskOf } = sequenceInputs(graph, parts.config);
  const attend = continued
    ? continuedAttention(graph, parts.config, { layout, maskOf })
    : trainingAttention(parts.config, { layout, maskOf });
  const keys: Tensor[] = [];
  const values: Tensor[] = [];
  const attention: Attention = (inputs) => {
    keys.push(inputs.keys);
    values.push(inputs.values);
    return attend(inputs);
  };
  const hidden = decoderBody(parts, { ids, positions, attention });
  const last = gatherRows(hidden, graph.input("rows", "int32", ["sequences"]));
  outputProbabilities(graph, parts, { hidden: last, rows: "sequences", product: weightProduct });
  outputStateValues(graph, parts, last);
  const { layers, keyValueHeads, headSize } = parts.config;
  graph.output("keys", concatenate(keys, 1, layers * keyValueHeads * headSize));
  graph.output("values", concatenate(values, 1, layers * keyValueHeads * headSize));
}
