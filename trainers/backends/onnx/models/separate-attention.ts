import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add, log, multiply, subtract } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { reduceMax } from "../graph/reduction.ts";
import { concatenate, reshape, splitBy } from "../graph/shape.ts";
import type { Dimension, Tensor } from "../graph/tensor.ts";

/**
 * The projections of one new token per row: queries (rows, heads, 1, headSize), keys and values (rows, keyValueHeads,
 * 1, headSize).
 */
export interface NewToken {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/**
 * Attention of new tokens to the cached tokens and to themselves: (rows, keyValueHeads, queries per key head, 1,
 * headSize). Each row has its own prompt. It equals {@link groupedAttention} with one row per group, with fewer operators.
 *
 * With `prefixApart` the prefix has its own softmax, and its result is combined with the others by log-sum-exp. That
 * needs more operators, but the many scores of the prefix are not copied to concatenate and split them.
 *
 * Inputs of the graph, for `prefix` and `tail`:
 * - `<cache>Mask` (rows, 1, 1, 1, capacity): 0 for filled places, minus infinity for the rest.
 * - `<cache>Values.<n>` per layer: (rows, keyValueHeads, 1, capacity, headSize).
 * - `<cache>Keys.<n>` per layer: the same shape. The prefix's keys have their last two axes swapped.
 * - `spans`: [prefix capacity, tail capacity, 1], or `ownSpans`: [1, tail capacity, 1] with `prefixApart`.
 *
 * Layers with a window read `prefixWindowMask` and `tailWindowMask` instead. They contain -1e30 in place of minus
 * infinity, because the whole prefix may be masked.
 *
 * All products are of single rows, without a scale: the runtime reads the matrices of such products in place and copies
 * others.
 */
export function separateAttention(
  graph: Graph,
  { heads, keyValueHeads, headSize, window }: DecoderConfig,
  { prefixApart }: { readonly prefixApart: boolean },
): (layer: number, token: NewToken) => Tensor {
  const spans = graph.input(prefixApart ? "ownSpans" : "spans", "int64", [3]);
  const weightsWith = (mask: string): ((scores: Parts) => Weights) =>
    (prefixApart ? separateWeights : jointWeights)(spans, maskInputs(graph, mask));
  const fullWeights = weightsWith("Mask");
  const windowWeights = window === undefined ? fullWeights : weightsWith("WindowMask");
  const scale = graph.scalar(1 / Math.sqrt(headSize));
  const byHead = (x: Tensor, queries: number): Tensor => reshape(x, ["rows", keyValueHeads, queries, 1, headSize]);
  return (layer, token) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", ["rows", keyValueHeads, 1, ...shape]);
    const queries = byHead(multiply(token.queries, scale), heads / keyValueHeads);
    const weightsOf = window?.layers[layer] === true ? windowWeights : fullWeights;
    const weights = weightsOf({
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

/** The scores or the weights of the three parts of a query's context. */
interface Parts {
  readonly prefix: Tensor;
  readonly tail: Tensor;
  readonly itself: Tensor;
}

/** Attention weights. If `share` is present, the prefix's weights must be multiplied by it. */
interface Weights extends Parts {
  readonly share?: Tensor;
}

/** Applies one softmax to the scores of all parts. */
function jointWeights(spans: Tensor, { prefix, tail }: Masks): (scores: Parts) => Weights {
  // The maximum of a mask is finite: a prefix is never empty, and a window's mask is finite everywhere.
  const zero = multiply(reduceMax(prefix, [4], { keepAxes: true }), prefix.graph.scalar(0));
  const mask = concatenate([prefix, tail, zero], 4, "context");
  const sizes = { sizes: spans, names: ["prefix", "tail", 1] };
  return (scores) => {
    const all = concatenate([scores.prefix, scores.tail, scores.itself], 4, "context");
    const weights = splitBy(softmax(add(all, mask)), 4, sizes) as [Tensor, Tensor, Tensor];
    return { prefix: weights[0], tail: weights[1], itself: weights[2] };
  };
}

/** Applies one softmax to the prefix's scores, and another to the other scores plus the prefix as a single entry. */
function separateWeights(spans: Tensor, mask: Masks): (scores: Parts) => Weights {
  const sizes = { sizes: spans, names: [1, "tail", 1] };
  const greatest = (x: Tensor): Tensor => reduceMax(x, [4], { keepAxes: true });
  return (scores) => {
    const masked = add(scores.prefix, mask.prefix);
    const prefix = softmax(masked);
    // The greatest weight is e^(greatest score) divided by the sum of e^score.
    const logSumExp = subtract(greatest(masked), log(greatest(prefix)));
    const all = concatenate([logSumExp, add(scores.tail, mask.tail), scores.itself], 4, "tail+2");
    const weights = splitBy(softmax(all), 4, sizes) as [Tensor, Tensor, Tensor];
    return { prefix, share: weights[0], tail: weights[1], itself: weights[2] };
  };
}

/** The masks of the tokens that a query may attend to, for each cache. */
interface Masks {
  readonly prefix: Tensor;
  readonly tail: Tensor;
}

function maskInputs(graph: Graph, name: string): Masks {
  const mask = (cache: string): Tensor => graph.input(`${cache}${name}`, "float32", ["rows", 1, 1, 1, cache]);
  return { prefix: mask("prefix"), tail: mask("tail") };
}
