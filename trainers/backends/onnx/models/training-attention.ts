import { add } from "../graph/elementwise.ts";
import { batchedProduct } from "../graph/linear.ts";
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
  config: DecoderConfig,
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
    const scores = batchedProduct(stacked, byHead(keys), { transposeB: true, scale: 1 / Math.sqrt(headSize) });
    const mixed = batchedProduct(softmax(add(scores, mask)), byHead(values));
    const unstacked = reshape(mixed, [batch, keyValueHeads, group, length, headSize]);
    return unpackRows(reshape(transpose(unstacked, [0, 3, 1, 2, 4]), [batch, length, heads * headSize]), layout);
  };
}
