import type { DecoderConfig } from "../architecture/decoder-config.ts";
import { add, log, multiply, subtract } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { reduceMax } from "../graph/reduction.ts";
import { concatenate, reshape, splitBy } from "../graph/shape.ts";
import type { Dimension, Tensor } from "../graph/tensor.ts";

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
 * With `prefixApart` the weights of the prefix are made by themselves and joined to the others' by their log-sum-exp:
 * more operators, but its scores, which are many, are neither copied together with the others nor parted from them.
 *
 * Inputs of the graph, for `prefix` and `tail`: `<cache>Mask` (rows, 1, 1, 1, capacity): 0 where it is filled, minus
 * infinity beyond; per layer `<cache>Values.<n>` (rows, keyValueHeads, 1, capacity, headSize) and `<cache>Keys.<n>`,
 * shaped as the values, the prefix's with its last two axes swapped; `spans` [prefix capacity, tail capacity, 1], or
 * `ownSpans` [1, tail capacity, 1] where the prefix is apart.
 *
 * Layers with a window read `prefixWindowMask` and `tailWindowMask` instead: -1e30 in place of minus infinity, for of the
 * prefix nothing may be left to look at.
 *
 * All products are of single rows, without a scale: the runtime reads the matrices of those in place, and copies others.
 */
export function separateAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize, window }: DecoderConfig,
  { prefixApart }: { readonly prefixApart: boolean },
): (layer: number, token: NewToken) => Tensor {
  const spans = graph.input(prefixApart ? "ownSpans" : "spans", "int64", [3]);
  const weighBy = (mask: string): ((scores: Parts) => Weights) =>
    (prefixApart ? weighApart : weighTogether)(spans, maskInputs(graph, mask));
  const weighWhole = weighBy("Mask");
  const weighWindow = window === undefined ? weighWhole : weighBy("WindowMask");
  const scale = graph.scalar(1 / Math.sqrt(headSize));
  const byHead = (x: Tensor, queries: number): Tensor => reshape(x, ["rows", keyValueHeads, queries, 1, headSize]);
  return (layer, token) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", ["rows", keyValueHeads, 1, ...shape]);
    const queries = byHead(multiply(token.queries, scale), heads / keyValueHeads);
    const weigh = window?.layers[layer] === true ? weighWindow : weighWhole;
    const weights = weigh({
      prefix: batchedProduct(queries, cache("prefixKeys", headSize, "prefix")),
      tail: batchedProduct(queries, cache("tailKeys", "tail", headSize), { transposeB: true }),
      itself: batchedProduct(queries, byHead(token.keys, 1), { transposeB: true }),
    });
    const ofPrefix = batchedProduct(weights.prefix, cache("prefixValues", "prefix", headSize));
    const fromCaches = add(
      weights.share === undefined ? ofPrefix : multiply(ofPrefix, weights.share),
      batchedProduct(weights.tail, cache("tailValues", "tail", headSize)),
    );
    return add(fromCaches, multiply(weights.itself, byHead(token.values, 1)));
  };
}

/** What a query gives each part of what it looks at: scores, or weights. */
interface Parts {
  readonly prefix: Tensor;
  readonly tail: Tensor;
  readonly itself: Tensor;
}

/** Weights; the prefix's are to be multiplied by its share where there is one. */
interface Weights extends Parts {
  readonly share?: Tensor;
}

/** One softmax over the scores of all parts. */
function weighTogether(spans: Tensor, { prefix, tail }: Masks): (scores: Parts) => Weights {
  // The greatest value of a mask is finite: a prefix is never empty, and a window's mask is finite everywhere.
  const zero = multiply(reduceMax(prefix, [4], { keepAxes: true }), prefix.graph.scalar(0));
  const mask = concatenate([prefix, tail, zero], 4, "context");
  const sizes = { sizes: spans, names: ["prefix", "tail", 1] };
  return (scores) => {
    const all = concatenate([scores.prefix, scores.tail, scores.itself], 4, "context");
    const weights = splitBy(softmax(add(all, mask)), 4, sizes) as [Tensor, Tensor, Tensor];
    return { prefix: weights[0], tail: weights[1], itself: weights[2] };
  };
}

/** A softmax over the prefix's scores, and one over the others' with the prefix as one of them. */
function weighApart(spans: Tensor, mask: Masks): (scores: Parts) => Weights {
  const sizes = { sizes: spans, names: [1, "tail", 1] };
  const greatest = (x: Tensor): Tensor => reduceMax(x, [4], { keepAxes: true });
  return (scores) => {
    const masked = add(scores.prefix, mask.prefix);
    const prefix = softmax(masked);
    // The greatest weight is e^(greatest score) over the sum of e^score.
    const logSumExp = subtract(greatest(masked), log(greatest(prefix)));
    const all = concatenate([logSumExp, add(scores.tail, mask.tail), scores.itself], 4, "tail+2");
    const weights = splitBy(softmax(all), 4, sizes) as [Tensor, Tensor, Tensor];
    return { prefix, share: weights[0], tail: weights[1], itself: weights[2] };
  };
}

/** Which tokens of each cache a query may look at. */
interface Masks {
  readonly prefix: Tensor;
  readonly tail: Tensor;
}

function maskInputs(graph: Graph, name: string): Masks {
  const mask = (cache: string): Tensor => graph.input(`${cache}${name}`, "float32", ["rows", 1, 1, 1, cache]);
  return { prefix: mask("prefix"), tail: mask("tail") };
}
