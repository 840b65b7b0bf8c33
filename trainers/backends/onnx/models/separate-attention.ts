import { add, multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { reduceMax } from "../graph/reduction.ts";
import { concatenate, reshape, splitBy } from "../graph/shape.ts";
import type { Dimension, Tensor } from "../graph/tensor.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/** One new token per row: queries (rows, heads, 1, headSize), keys and values (rows, keyValueHeads, 1, headSize). */
export interface NewToken {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/**
 * Attention of new tokens to what is cached and to themselves, (rows, keyValueHeads, queries of one, 1, headSize), where
 * each row has a prompt of its own: {@link groupedAttention} with one member, in fewer operators.
 *
 * Inputs of the graph, for `prefix` and `tail`: `<cache>Mask` (rows, 1, 1, 1, capacity): 0 where it is filled, minus
 * infinity beyond; per layer `<cache>Values.<n>` (rows, keyValueHeads, 1, capacity, headSize) and `<cache>Keys.<n>`,
 * shaped as the values, the prefix's with its last two axes swapped; `spans` [prefix capacity, tail capacity, 1].
 *
 * All products are of single rows, without a scale: the runtime reads the matrices of those in place, and copies others.
 */
export function separateAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize }: DecoderConfig,
): (layer: number, token: NewToken) => Tensor {
  const prefixMask = graph.input("prefixMask", "float32", ["rows", 1, 1, 1, "prefix"]);
  const tailMask = graph.input("tailMask", "float32", ["rows", 1, 1, 1, "tail"]);
  // A prefix is never empty, so that its mask's greatest value is 0: the token itself is always seen.
  const masks = [prefixMask, tailMask, reduceMax(prefixMask, [4], { keepAxes: true })];
  const mask = concatenate(masks, 4, "context");
  const sizes = { sizes: graph.input("spans", "int64", [3]), names: ["prefix", "tail", 1] };
  const scale = graph.scalar(1 / Math.sqrt(headSize));
  const byHead = (x: Tensor, queries: number): Tensor => reshape(x, ["rows", keyValueHeads, queries, 1, headSize]);
  return (layer, token) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", ["rows", keyValueHeads, 1, ...shape]);
    const queries = byHead(multiply(token.queries, scale), heads / keyValueHeads);
    const scores = [
      batchedProduct(queries, cache("prefixKeys", headSize, "prefix")),
      batchedProduct(queries, cache("tailKeys", "tail", headSize), { transposeB: true }),
      batchedProduct(queries, byHead(token.keys, 1), { transposeB: true }),
    ];
    const weights = softmax(add(concatenate(scores, 4, "context"), mask));
    const [ofPrefix, ofTail, ofItself] = splitBy(weights, 4, sizes) as [Tensor, Tensor, Tensor];
    const fromCaches = add(
      batchedProduct(ofPrefix, cache("prefixValues", "prefix", headSize)),
      batchedProduct(ofTail, cache("tailValues", "tail", headSize)),
    );
    return add(fromCaches, multiply(ofItself, byHead(token.values, 1)));
  };
}
