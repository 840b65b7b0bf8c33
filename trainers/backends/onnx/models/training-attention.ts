import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add, multiply, subtract } from "../graph/elementwise.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { packHeads, type RaggedLayout, splitHeads, unpackHeads } from "../graph/ragged.ts";
import { reduceSum } from "../graph/reduction.ts";
import { scaleAfter } from "../graph/scale-after.ts";
import { concatenate, firstRows, flatten, growth, padEnds, reshape, split, splitEvenly } from "../graph/shape.ts";
import { knownDimension, type Tensor } from "../graph/tensor.ts";
import type { Attention } from "./decoder.ts";

/**
 * Causal attention over whole sequences, computed on a padded batch. The queries of heads that share keys are stacked,
 * so keys and values are not repeated. The length is split into `blocks` of nearly equal size. The queries of a block
 * skip the keys of later blocks, so with several blocks little more than half of the score matrix is computed. Rows whose
 * queries in a block are all those of shared tokens, which another row computes, skip the block.
 */
export function trainingAttention(
  config: Pick<DecoderConfig, "heads" | "keyValueHeads" | "headSize">,
  inputs: {
    readonly layout: RaggedLayout;
    /**
     * Returns a layer's mask (length, group, length): 0 for keys that a query may attend to, minus infinity for others.
     */
    readonly maskOf: (layer: number) => Tensor;
    /** At most the length. Default: 1. */
    readonly blocks?: number;
  },
): Attention {
  const { keyValueHeads, headSize } = config;
  const count = inputs.blocks ?? 1;
  const places = findPlaces(inputs.layout, keyValueHeads, count);
  const blocksOf = new Map<Tensor, Tensor[]>();
  const masksOf = (layer: number): Tensor[] => {
    const mask = inputs.maskOf(layer);
    const masks = blocksOf.get(mask) ?? maskBlocks(mask, count);
    blocksOf.set(mask, masks);
    return masks;
  };
  return ({ layer, queries, keys, values }) =>
    attend({ queries, keys, values, places, masks: masksOf(layer), headSize });
}

/** The places of each head's rows, by blocks: see `HeadLayout`. A block has the first rows of the batch, or all. */
interface Places {
  /** (heads, rows of the block, places of the block) */
  readonly blocks: readonly Tensor[];
  /** (heads, rows of the block, places up to the block's end) */
  readonly prefixes: readonly Tensor[];
  /** (rows of the block, places of the block, 1) */
  readonly present: readonly Tensor[];
  /** (tokens, heads) */
  readonly placeOf: Tensor;
  /** Zeros to append to a block so that it has all rows of the batch. */
  readonly otherRows: readonly Tensor[];
  /** Zeros to append to a prefix so that it is like the next one. */
  readonly nextPrefix: readonly Tensor[];
  readonly shared:
    | {
        /** (shared, copies, heads) */
        readonly places: Tensor;
        /** (shared, copies, 1) */
        readonly present: Tensor;
        /** (own, heads) */
        readonly ownPlaceOf: Tensor;
      }
    | undefined;
}

function findPlaces(layout: RaggedLayout, heads: number, count: number): Places {
  const { tokenAt, placeOf, present, shared } = layout;
  const { rowAt, placesOf } = splitHeads(tokenAt, heads);
  const counts = shared === undefined ? [] : split(shared.blockRows, 0, new Array<number>(count).fill(1));
  // Every sequence has a token of its own, so the last block has all rows.
  const rowsOf = (parts: readonly Tensor[], axis: number): Tensor[] =>
    parts.map((part, i) =>
      shared === undefined || i === count - 1 ? part : firstRows(part, { axis, count: counts[i]!, name: `rows${i}` }),
    );
  const whole = cut(rowAt, 2, count);
  const blocks = rowsOf(whole, 1);
  const upToBlocks = rowsOf(prefixes(rowAt, count), 1);
  return {
    blocks,
    prefixes: upToBlocks,
    present: rowsOf(cut(present, 1, count), 0),
    placeOf: placesOf(placeOf),
    otherRows: shared === undefined ? [] : blocks.slice(0, -1).map((block, i) => growth(block, whole[i]!, 4)),
    nextPrefix: upToBlocks.slice(1).map((next, i) => growth(upToBlocks[i]!, next, 4)),
    shared: shared && {
      places: placesOf(shared.places),
      present: shared.present,
      ownPlaceOf: placesOf(shared.ownPlaceOf),
    },
  };
}

/** Returns, for each block, the mask between its queries and the keys up to its end: (queries of the block, keys). */
function maskBlocks(mask: Tensor, blocks: number): Tensor[] {
  return cut(mask, 0, blocks).map((rows, i) => {
    const keys = join(cut(rows, 2, blocks).slice(0, i + 1), 2, prefixName(i, blocks));
    return flatten(keys, queriesName(i));
  });
}

/**
 * Computes softmax(q k^T / sqrt(headSize) + mask) v by blocks, with the gradient of Dao et al. 2022
 * (https://arxiv.org/abs/2205.14135, appendix B.2). The row sums in the softmax's gradient are computed from dy times
 * y, which is far smaller than the scores.
 */
function attend(inputs: {
  /** (tokens, heads x group x headSize) */
  readonly queries: Tensor;
  /** (tokens, heads x headSize), as `values`. */
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly places: Places;
  readonly masks: readonly Tensor[];
  readonly headSize: number;
}): Tensor {
  const { queries, keys, values, places, masks, headSize } = inputs;
  const scale = 1 / Math.sqrt(headSize);
  const count = masks.length;
  const queryRows = (x: Tensor, i: number, width = headSize): Tensor =>
    reshape(x, [...x.shape.slice(0, 2), queriesName(i), width]);
  const unpackQueries = (blocks: readonly Tensor[]): Tensor => {
    const width = knownDimension(queries, 1) / knownDimension(places.placeOf, 1);
    const parts = blocks.map((block, i) => {
      const [heads, rows] = block.shape as [number, string];
      const placed = reshape(block, [heads, rows, blockName(i, count), width]);
      const others = places.otherRows[i];
      return others === undefined ? placed : padEnds(placed, others, placed.shape.with(1, "batch"));
    });
    return unpackHeads(join(parts, 2, "length"), places.placeOf);
  };
  const unpackPrefixes = (parts: readonly Tensor[]): Tensor => {
    // The i-th part has the rows and the keys up to the end of the i-th block.
    const total = parts.reduce((sum, part, i) => add(padEnds(sum, places.nextPrefix[i - 1]!, part.shape), part));
    if (places.shared === undefined) return unpackHeads(total, places.placeOf);
    const copies = multiply(unpackHeads(total, places.shared.places), places.shared.present);
    return concatenate([reduceSum(copies, [1]), unpackHeads(total, places.shared.ownPlaceOf)], 0, "tokens");
  };
  return queries.graph.composite({
    name: "attention",
    inputs: [queries, keys, values],
    build: () => {
      const score = (i: number, [asking, asked, answered]: readonly [Tensor, Tensor, Tensor]) => {
        const q = queryRows(packHeads(asking, places.blocks[i]!), i);
        const [k, v] = [asked, answered].map((x) => packHeads(x, places.prefixes[i]!)) as [Tensor, Tensor];
        const weights = softmax(add(batchedProduct(q, k, { transposeB: true, scale }), masks[i]!));
        return { q, k, v, weights };
      };
      const forward = masks.map((_, i) => score(i, [queries, keys, values]));
      const output = unpackQueries(forward.map(({ weights, v }) => batchedProduct(weights, v)));
      return {
        outputs: [output],
        gradient: ([dy]) => {
          // The weights are computed again. They are far larger than what they are computed from.
          const one = scaleAfter(dy!, 1);
          const again = [multiply(queries, one), multiply(keys, one), multiply(values, one)] as const;
          const blocks = masks.map((_, i) => score(i, again));
          // Padding contains copies of token 0 and must not pass a gradient back.
          const packed = (x: Tensor, i: number): Tensor =>
            multiply(packHeads(x, places.blocks[i]!), places.present[i]!);
          const slopes = blocks.map((_, i) => queryRows(packed(dy!, i), i));
          const rowSums = headDots(dy!, output, headSize);
          const byScores = blocks.map(({ weights, v }, i) => {
            const byWeights = batchedProduct(slopes[i]!, v, { transposeB: true });
            return multiply(weights, subtract(byWeights, queryRows(packed(rowSums, i), i, 1)));
          });
          return [
            () => unpackQueries(byScores.map((slope, i) => batchedProduct(slope, blocks[i]!.k, { scale }))),
            () =>
              unpackPrefixes(
                byScores.map((slope, i) => batchedProduct(slope, blocks[i]!.q, { transposeA: true, scale })),
              ),
            () =>
              unpackPrefixes(blocks.map(({ weights }, i) => batchedProduct(weights, slopes[i]!, { transposeA: true }))),
          ];
        },
      };
    },
  })[0]!;
}

/**
 * Returns the dot product of each token's part of each head, (tokens, heads), of two tensors (tokens, heads x
 * headSize).
 */
function headDots(a: Tensor, b: Tensor, headSize: number): Tensor {
  const [tokens, width] = a.shape as [string, number];
  return reduceSum(reshape(multiply(a, b), [tokens, width / headSize, headSize]), [-1]);
}

const queriesName = (block: number): string => `queries${block}`;
const blockName = (block: number, count: number): string => (count === 1 ? "length" : `block${block}`);
const prefixName = (block: number, count: number): string => (block === count - 1 ? "length" : `prefix${block}`);

/** Splits a tensor into blocks along its length axis. */
function cut(x: Tensor, axis: number, count: number): Tensor[] {
  return splitEvenly(x, { axis, count, name: "block" });
}

function join(parts: readonly Tensor[], axis: number, size: string): Tensor {
  return parts.length === 1 ? parts[0]! : concatenate(parts, axis, size);
}

/** Returns, for each block, everything up to its end. */
function prefixes(x: Tensor, count: number): Tensor[] {
  const blocks = cut(x, 2, count);
  return blocks.map((_, i) => (i === count - 1 ? x : join(blocks.slice(0, i + 1), 2, prefixName(i, count))));
}
