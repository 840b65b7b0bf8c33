import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add, multiply } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { concatenate, expandDimension, reshape, reshapeBy, splitBy, transpose } from "../graph/shape.ts";
import { type Dimension, productOf, type Tensor } from "../graph/tensor.ts";
import type { NewToken } from "./separate-attention.ts";

/**
 * Attention of new tokens to the cached tokens and to themselves: (groups, rowsPerGroup, keyValueHeads, queries per key
 * head, headSize). Rows form groups of equal size, `rows` = groups x rowsPerGroup. A group's prompt (the `prefix`) is cached
 * once (as in Juravsky et al. 2024, https://arxiv.org/abs/2402.05099). Each row has its own generated tokens (the
 * `tail`).
 *
 * Inputs of the graph, for the prefix (with 1 row per group) and the tail:
 * - `<cache>Mask` (groups, 1, rowsPerGroup, 1, capacity): 0 for filled places, minus infinity for the rest.
 * - `<cache>Values.<n>` per layer: (groups, keyValueHeads, rowsPerGroup, capacity, headSize).
 * - `<cache>Keys.<n>` per layer: the same shape. The prefix's keys have their last two axes swapped.
 * - `<cache>WindowMask` (groups, 1, rowsPerGroup, 1, capacity), which layers with a window read in place of the mask.
 *
 * Inputs with the shapes that split rows:
 * - `grid`: [groups, rowsPerGroup, keyValueHeads, -1, headSize].
 * - `queryRows`: [groups, keyValueHeads, rowsPerGroup, queries, -1].
 * - `prefixRows`: [groups, keyValueHeads, 1, a, b, -1] with a b = rowsPerGroup x queries.
 * - `spans`: [prefix capacity, tail capacity, 1].
 *
 * Keys are read fastest by all queries at once. Values are read fastest by single rows, in place, if there are few. So
 * `a` products of `b` rows read the prefix's values.
 */
export function groupedAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize, window }: DecoderConfig,
): (layer: number, token: NewToken) => Tensor {
  const group = heads / keyValueHeads;
  const lead = ["groups", keyValueHeads] as const;
  const prefixMask = graph.input("prefixMask", "float32", ["groups", 1, 1, 1, "prefix"]);
  const tailMask = graph.input("tailMask", "float32", ["groups", 1, "rowsPerGroup", 1, "tail"]);
  const windowMask = (cache: string): Tensor | undefined =>
    window && graph.input(`${cache}WindowMask`, "float32", ["groups", 1, "rowsPerGroup", 1, cache]);
  const [prefixWindow, tailWindow] = [windowMask("prefix"), windowMask("tail")];
  const grid = graph.input("grid", "int64", [5]);
  const queryRows = graph.input("queryRows", "int64", [5]);
  const prefixRows = graph.input("prefixRows", "int64", [6]);
  const spans = graph.input("spans", "int64", [3]);
  const inGrid = (x: Tensor, queries: number): Tensor =>
    transpose(reshapeBy(x, grid, ["groups", "rowsPerGroup", keyValueHeads, queries, headSize]), swapGrid);
  const byQuery = (x: Tensor, width: Dimension): Tensor =>
    reshapeBy(x, queryRows, [...lead, "rowsPerGroup", group, width]);
  const scale = 1 / Math.sqrt(headSize);
  return (layer, token) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", [...lead, ...shape]);
    const [queries, keys, values] = [inGrid(token.queries, group), inGrid(token.keys, 1), inGrid(token.values, 1)];
    const together = reshape(queries, [...lead, 1, productOf(["rowsPerGroup", group]), headSize]);
    const toPrefix = batchedProduct(together, cache("prefixKeys", 1, headSize, "prefix"), { scale });
    const toTail = batchedProduct(queries, cache("tailKeys", "rowsPerGroup", "tail", headSize), {
      transposeB: true,
      scale,
    });
    const windowed = window?.layers[layer] === true;
    const scores = [
      windowed ? add(byQuery(toPrefix, "prefix"), prefixWindow!) : byQuery(add(toPrefix, prefixMask), "prefix"),
      add(toTail, windowed ? tailWindow! : tailMask),
      batchedProduct(queries, keys, { transposeB: true, scale }),
    ];
    const sizes = { sizes: spans, names: ["prefix", "tail", 1] };
    const weights = splitBy(softmax(concatenate(scores, 4, "context")), 4, sizes) as [Tensor, Tensor, Tensor];
    const ofPrefix = reshapeBy(weights[0], prefixRows, [...lead, 1, "products", "each", "prefix"]);
    const ofTail = reshape(weights[1], [...lead, "rowsPerGroup", group, 1, "tail"]);
    const fromPrefix = batchedProduct(ofPrefix, expandDimension(cache("prefixValues", 1, "prefix", headSize), 3));
    const fromTail = batchedProduct(ofTail, expandDimension(cache("tailValues", "rowsPerGroup", "tail", headSize), 3));
    const fromItself = multiply(weights[2], values);
    const fromOwn = add(reshape(fromTail, [...lead, "rowsPerGroup", group, headSize]), fromItself);
    return transpose(add(byQuery(fromPrefix, headSize), fromOwn), swapGrid);
  };
}

/** Swaps (groups, rowsPerGroup, heads, ...) and (groups, heads, rowsPerGroup, ...). */
const swapGrid = [0, 2, 1, 3, 4];
