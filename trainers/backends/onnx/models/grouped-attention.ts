import { add, multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { concatenate, reshape, reshapeBy, splitBy } from "../graph/shape.ts";
import type { Dimension, Tensor } from "../graph/tensor.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/** One new token per row: (groups, keyValueHeads, members, queries, headSize), of keys and values one. */
export interface NewToken {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/**
 * Attention of new tokens to what is cached and to themselves, shaped as the queries. Rows stand in groups of equal
 * size whose prompt is cached once, the `prefix` (as Juravsky et al. 2024, https://arxiv.org/abs/2402.05099); what
 * each row generated is its own, the `tail`.
 *
 * Inputs of the graph, for the prefix with 1 member and the tail: `<cache>Mask` (groups, 1, members, 1, capacity): 0
 * where it is filled, minus infinity beyond; per layer `<cache>Keys.<n>` (groups, keyValueHeads, members, capacity,
 * headSize) and `<cache>Values.<n>` (groups, keyValueHeads, members, 1, capacity, headSize). Shapes to cut rows by:
 * `queryRows` [groups, keyValueHeads, members, queries, -1]; `prefixRows` [groups, keyValueHeads, 1, a, b, -1] with
 * a b = members x queries; `spans` [prefix capacity, tail capacity, 1].
 *
 * Keys are read fastest by all queries at once. Values are read fastest by single rows, in place, as long as there
 * are few: a products of b rows read the prefix's.
 */
export function cachedAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize }: DecoderConfig,
): (layer: number, token: NewToken) => Tensor {
  const queries = heads / keyValueHeads;
  const lead = ["groups", keyValueHeads] as const;
  const prefixMask = graph.input("prefixMask", "float32", ["groups", 1, 1, 1, "prefix"]);
  const tailMask = graph.input("tailMask", "float32", ["groups", 1, "members", 1, "tail"]);
  const queryRows = graph.input("queryRows", "int64", [5]);
  const prefixRows = graph.input("prefixRows", "int64", [6]);
  const spans = graph.input("spans", "int64", [3]);
  const byQuery = (x: Tensor, width: Dimension): Tensor =>
    reshapeBy(x, queryRows, [...lead, "members", queries, width]);
  const product = { transposeB: true, scale: 1 / Math.sqrt(headSize) };
  return (layer, token) => {
    const cache = (name: string, shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", [...lead, ...shape, headSize]);
    const together = reshape(token.queries, [...lead, 1, "rows", headSize]);
    const toPrefix = batchedProduct(together, cache("prefixKeys", [1, "prefix"]), product);
    const toTail = batchedProduct(token.queries, cache("tailKeys", ["members", "tail"]), product);
    const scores = [
      byQuery(add(toPrefix, prefixMask), "prefix"),
      add(toTail, tailMask),
      batchedProduct(token.queries, token.keys, product),
    ];
    const sizes = { sizes: spans, names: ["prefix", "tail", 1] };
    const weights = splitBy(softmax(concatenate(scores, 4, "context")), 4, sizes) as [Tensor, Tensor, Tensor];
    const ofPrefix = reshapeBy(weights[0], prefixRows, [...lead, 1, "products", "each", "prefix"]);
    const ofTail = reshape(weights[1], [...lead, "members", queries, 1, "tail"]);
    const fromPrefix = batchedProduct(ofPrefix, cache("prefixValues", [1, 1, "prefix"]));
    const fromTail = batchedProduct(ofTail, cache("tailValues", ["members", 1, "tail"]));
    const fromItself = multiply(weights[2], token.values);
    const fromOwn = add(reshape(fromTail, [...lead, "members", queries, headSize]), fromItself);
    return add(byQuery(fromPrefix, headSize), fromOwn);
  };
}
