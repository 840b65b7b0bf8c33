import { add, multiply, subtract } from "../graph/elementwise.ts";
import { batchedProduct, rowDot, sum } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { packHeads, type RaggedLayout, splitHeads, unpackHeads } from "../graph/ragged.ts";
import { concatenate, flatten, reshape, splitEvenly } from "../graph/shape.ts";
import { knownDimension, type Tensor } from "../graph/tensor.ts";
import type { Attention } from "./decoder.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/**
 * Causal attention over whole sequences, computed on a padded batch. Queries of the heads that share keys stand side
 * by side, so that keys and values are never repeated. The length is cut into `blocks` as even as can be, whose
 * queries meet no keys of later blocks: with several, little more than half of the square is computed.
 */
export function trainingAttention(
  config: Pick<DecoderConfig, "heads" | "keyValueHeads" | "headSize">,
  inputs: {
    readonly layout: RaggedLayout;
    /** (length, group, length): 0 where a query may look, minus infinity where it may not. */
    readonly mask: Tensor;
    /** No more than the length; 1 by default. */
    readonly blocks?: number;
  },
): Attention {
  const { keyValueHeads, headSize } = config;
  const layout = splitHeads(inputs.layout, keyValueHeads);
  const masks = maskBlocks(inputs.mask, inputs.blocks ?? 1);
  return ({ queries, keys, values }) => {
    const [q, k, v] = [queries, keys, values].map((x) => packHeads(x, layout)) as [Tensor, Tensor, Tensor];
    return unpackHeads(attend({ queries: q, keys: k, values: v, masks, headSize }), layout);
  };
}

/** For each block the mask between its queries and the keys up to its end: (queries of the block, keys). */
function maskBlocks(mask: Tensor, blocks: number): Tensor[] {
  return cut(mask, 0, blocks).map((rows, i) => {
    const keys = join(cut(rows, 2, blocks).slice(0, i + 1), 2, prefixName(i, blocks));
    return flatten(keys, queriesName(i));
  });
}

/**
 * softmax(q k^T / sqrt(headSize) + mask) v by blocks, with the gradient of Dao et al. 2022
 * (https://arxiv.org/abs/2205.14135, appendix B.2): the row sums that the softmax's gradient needs are those of dy
 * times y, which are far smaller than the scores.
 */
function attend(inputs: {
  /** (heads, batch, length, group x headSize) */
  readonly queries: Tensor;
  /** (heads, batch, length, headSize), as `values`. */
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly masks: readonly Tensor[];
  readonly headSize: number;
}): Tensor {
  const { queries, keys, values, masks, headSize } = inputs;
  const scale = 1 / Math.sqrt(headSize);
  const count = masks.length;
  const queryBlocks = (x: Tensor): Tensor[] =>
    cut(x, 2, count).map((block, i) => reshape(block, [...x.shape.slice(0, 2), queriesName(i), headSize]));
  const joinQueries = (blocks: readonly Tensor[]): Tensor => {
    const width = knownDimension(queries, -1);
    const parts = blocks.map((block, i) => reshape(block, [...block.shape.slice(0, 2), blockName(i, count), width]));
    return join(parts, 2, "length");
  };
  return queries.graph.composite({
    name: "attention",
    inputs: [queries, keys, values],
    build: () => {
      const k = prefixes(keys, count);
      const v = prefixes(values, count);
      const blocks = queryBlocks(queries).map((q, i) => {
        const weights = softmax(add(batchedProduct(q, k[i]!, { transposeB: true, scale }), masks[i]!));
        return { q, weights, output: batchedProduct(weights, v[i]!) };
      });
      return {
        output: joinQueries(blocks.map(({ output }) => output)),
        gradient: ([dy]) => {
          const slopes = queryBlocks(dy!);
          const byScores = blocks.map(({ weights, output }, i) => {
            const byWeights = batchedProduct(slopes[i]!, v[i]!, { transposeB: true });
            return multiply(weights, subtract(byWeights, rowDot(slopes[i]!, output)));
          });
          return [
            () => joinQueries(byScores.map((slope, i) => batchedProduct(slope, k[i]!, { scale }))),
            () =>
              sumPrefixes(byScores.map((slope, i) => batchedProduct(slope, blocks[i]!.q, { transposeA: true, scale }))),
            () =>
              sumPrefixes(blocks.map(({ weights }, i) => batchedProduct(weights, slopes[i]!, { transposeA: true }))),
          ];
        },
      };
    },
  });
}

const queriesName = (block: number): string => `queries${block}`;
const blockName = (block: number, count: number): string => (count === 1 ? "length" : `block${block}`);
const prefixName = (block: number, count: number): string => (block === count - 1 ? "length" : `prefix${block}`);

/** The blocks of a tensor along an axis of the sequences' length. */
function cut(x: Tensor, axis: number, count: number): Tensor[] {
  return splitEvenly(x, { axis, count, name: "block" });
}

function join(parts: readonly Tensor[], axis: number, size: string): Tensor {
  return parts.length === 1 ? parts[0]! : concatenate(parts, axis, size);
}

/** For each block, what stands up to its end. */
function prefixes(x: Tensor, count: number): Tensor[] {
  const blocks = cut(x, 2, count);
  return blocks.map((_, i) => (i === count - 1 ? x : join(blocks.slice(0, i + 1), 2, prefixName(i, count))));
}

/** The sum of tensors of which the i-th covers the first i + 1 blocks: the gradient of {@link prefixes}. */
function sumPrefixes(parts: readonly Tensor[]): Tensor {
  const blocks = parts.map((part, i) => cut(part, 2, i + 1));
  return join(
    parts.map((_, place) => sum(blocks.slice(place).map((part) => part[place]!))),
    2,
    "length",
  );
}
