import { add, multiply, subtract } from "../graph/elementwise.ts";
import { batchedProduct, rowDot } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { packRows, type RaggedLayout, unpackRows } from "../graph/ragged.ts";
import { reshape, transpose } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { Attention } from "./decoder.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/**
 * Causal attention over whole sequences, computed on a padded batch. Queries of the heads that share keys are
 * stacked along the length, so that keys and values are never repeated.
 */
export function trainingAttention(
  config: Pick<DecoderConfig, "heads" | "keyValueHeads" | "headSize">,
  inputs: {
    readonly layout: RaggedLayout;
    /** (group x length, length): 0 where a query may look, minus infinity where it may not. */
    readonly mask: Tensor;
  },
): Attention {
  const { heads, keyValueHeads, headSize } = config;
  const group = heads / keyValueHeads;
  const { layout, mask } = inputs;
  const [batch, length] = layout.tokenAt.shape as [string, string];
  const byHead = (x: Tensor): Tensor =>
    transpose(reshape(packRows(x, layout), [batch, length, keyValueHeads, headSize]), [0, 2, 1, 3]);
  return ({ queries, keys, values }) => {
    const grouped = reshape(packRows(queries, layout), [batch, length, keyValueHeads, group, headSize]);
    const stacked = reshape(transpose(grouped, [0, 2, 3, 1, 4]), [batch, keyValueHeads, "queries", headSize]);
    const mixed = attend({ queries: stacked, keys: byHead(keys), values: byHead(values), mask });
    const unstacked = reshape(mixed, [batch, keyValueHeads, group, length, headSize]);
    return unpackRows(reshape(transpose(unstacked, [0, 3, 1, 2, 4]), [batch, length, heads * headSize]), layout);
  };
}

/**
 * softmax(q k^T / sqrt(headSize) + mask) v with the gradient of Dao et al. 2022 (https://arxiv.org/abs/2205.14135,
 * appendix B.2): the row sums that the softmax's gradient needs are those of dy times y, which are far smaller than
 * the scores.
 */
function attend(inputs: {
  /** (batch, heads, queries, headSize) */
  readonly queries: Tensor;
  /** (batch, heads, length, headSize), as `values`. */
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly mask: Tensor;
}): Tensor {
  const { queries, keys, values, mask } = inputs;
  const scale = 1 / Math.sqrt(Number(queries.shape.at(-1)));
  return queries.graph.composite({
    name: "attention",
    inputs: [queries, keys, values],
    build: () => {
      const weights = softmax(add(batchedProduct(queries, keys, { transposeB: true, scale }), mask));
      const output = batchedProduct(weights, values);
      return {
        output,
        gradient: ([dy]) => {
          const byScores = multiply(
            weights,
            subtract(batchedProduct(dy!, values, { transposeB: true }), rowDot(dy!, output)),
          );
          return [
            () => batchedProduct(byScores, keys, { scale }),
            () => batchedProduct(byScores, queries, { transposeA: true, scale }),
            () => batchedProduct(weights, dy!, { transposeA: true }),
          ];
        },
      };
    },
  });
}
