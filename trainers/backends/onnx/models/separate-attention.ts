import { add, log, multiply, subtract } from "../graph/elementwise.ts";
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
 * With `prefixApart` the weights of the prefix are made by themselves and joined to the others' by their log-sum-exp:
 * more operators, but its scores, which are many, are neither copied together with the others nor parted from them.
 *
 * Inputs of the graph, for `prefix` and `tail`: `<cache>Mask` (rows, 1, 1, 1, capacity): 0 where it is filled, minus
 * infinity beyond; per layer `<cache>Values.<n>` (rows, keyValueHeads, 1, capacity, headSize) and `<cache>Keys.<n>`,
 * shaped as the values, the prefix's with its last two axes swapped; `spans` [prefix capacity, tail capacity, 1], or
 * `ownSpans` [1, tail capacity, 1] where the prefix is apart.
 *
 * All products are of single rows, without a scale: the runtime reads the matrices of those in place, and copies others.
 */
export function separateAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize }: DecoderConfig,
  { prefixApart }: { readonly prefixApart: boolean },
): (layer: number, token: NewToken) => Tensor {
  const weigh = (prefixApart ? weighApart : weighTogether)(graph);
  const scale = graph.scalar(1 / Math.sqrt(headSize));
  const byHead = (x: Tensor, queries: number): Tensor => reshape(x, ["rows", keyValueHeads, queries, 1, headSize]);
  return (layer, token) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", ["rows", keyValueHeads, 1, ...shape]);
    const queries = byHead(multiply(token.queries, scale), heads / keyValueHeads);
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
function weighTogether(graph: Graph): (scores: Parts) => Weights {
  const { prefix, tail } = maskInputs(graph);
  // A prefix is never empty, so that its mask's greatest value is 0: the token itself is always seen.
  const mask = concatenate([prefix, tail, reduceMax(prefix, [4], { keepAxes: true })], 4, "context");
  const sizes = { sizes: graph.input("spans", "int64", [3]), names: ["prefix", "tail", 1] };
  return (scores) => {
    const all = concatenate([scores.prefix, scores.tail, scores.itself], 4, "context");
    const weights = splitBy(softmax(add(all, mask)), 4, sizes) as [Tensor, Tensor, Tensor];
    return { prefix: weights[0], tail: weights[1], itself: weights[2] };
  };
}

/** A softmax over the prefix's scores, and one over the others' with the prefix as one of them. */
function weighApart(graph: Graph): (scores: Parts) => Weights {
  const mask = maskInputs(graph);
  const sizes = { sizes: graph.input("ownSpans", "int64", [3]), names: [1, "tail", 1] };
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

function maskInputs(graph: Graph): { readonly prefix: Tensor; readonly tail: Tensor } {
  const mask = (name: string): Tensor => graph.input(`${name}Mask`, "float32", ["rows", 1, 1, 1, name]);
  return { prefix: mask("prefix"), tail: mask("tail") };
}
