import { add, multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct, rowDot } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { concatenate, expandDimension, reshape, splitFirst } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type Attention, type DecoderParts, decoderBody } from "./decoder.ts";
import { outputProbabilities } from "./prefill-graph.ts";
import { rotaryInputs } from "./sequence-inputs.ts";

/**
 * One token for each row of a batch, over a cache. Inputs: `ids` (rows), `positions` (1, rows), `cos`, `sin`, `mask`
 * (rows, 1, 1, 1, capacity): 0 where the cache is filled, minus infinity beyond; per layer `keys.<n>` and
 * `values.<n>` (rows, keyValueHeads, 1, capacity, headSize); `inverseTemperature` (rows, 1). Outputs:
 * `probabilities` (rows, vocabulary), and `keys`, `values` (layers, rows, keyValueHeads x headSize): the new rows
 * only, because the runtime copies whatever is fetched. The new token attends to the cache and to itself.
 */
export function buildDecodeGraph(graph: Graph, parts: DecoderParts): void {
  const { config } = parts;
  const { heads, keyValueHeads, headSize } = config;
  const group = heads / keyValueHeads;
  const scale = 1 / Math.sqrt(headSize);
  const mask = graph.input("mask", "float32", ["rows", 1, 1, 1, "capacity"]);
  const newKeys: Tensor[] = [];
  const newValues: Tensor[] = [];
  const attention: Attention = ({ layer, queries, keys, values }) => {
    newKeys.push(expandDimension(keys, 0));
    newValues.push(expandDimension(values, 0));
    const cache = ["rows", keyValueHeads, 1, "capacity", headSize];
    const cachedKeys = graph.input(`keys.${layer}`, "float32", cache);
    const cachedValues = graph.input(`values.${layer}`, "float32", cache);
    // One row per head: products of a single row read the cache in place, where wider ones would repack it.
    const query = reshape(queries, ["rows", keyValueHeads, group, 1, headSize]);
    const ownKey = reshape(keys, ["rows", keyValueHeads, 1, 1, headSize]);
    const ownValue = reshape(values, ["rows", keyValueHeads, 1, 1, headSize]);
    const scores = add(batchedProduct(query, cachedKeys, { transposeB: true, scale }), mask);
    const ownScore = multiply(rowDot(query, ownKey), graph.scalar(scale));
    const weights = softmax(concatenate([ownScore, scores], 4, "capacity+1"));
    const [ownWeight, cacheWeights] = splitFirst(weights, 4, "capacity");
    const mixed = add(batchedProduct(cacheWeights, cachedValues), multiply(ownWeight, ownValue));
    return reshape(mixed, ["rows", heads * headSize]);
  };
  const ids = graph.input("ids", "int32", ["rows"]);
  const hidden = decoderBody(parts, { ids, rotary: rotaryInputs(graph, config, "rows"), attention });
  outputProbabilities(graph, parts, hidden, "rows");
  graph.output("keys", concatenate(newKeys, 0, config.layers));
  graph.output("values", concatenate(newValues, 0, config.layers));
}
