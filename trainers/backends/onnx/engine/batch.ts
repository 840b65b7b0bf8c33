import { supportWords, writeSupport } from "../../../../src/contract/token-support.ts";
import type { Datum } from "../../../backend/datum.ts";
import { type DistinctTokens, mergePrefixes } from "./prefix-order.ts";

/**
 * The sequences of one run, concatenated. Only attention is padded. The arrays have the names of the training graph's
 * inputs.
 */
export interface Batch {
  /** The number of distinct tokens. */
  readonly tokens: number;
  readonly length: number;
  readonly sequences: number;
  readonly ids: Int32Array;
  /** The index of each token in its sequence. */
  readonly positions: BigInt64Array;
  readonly tokenAt: Int32Array;
  readonly placeOf: Int32Array;
  readonly present: Float32Array;
  /** The token at each place of each sequence, in the order of the sequences. */
  readonly tokenOf: readonly Int32Array[];
  /** Present if tokens of equal prefixes are one token. */
  readonly shared?: SharedTokens;
}

/** The first tokens of a batch, which are those that several sequences share. */
export interface SharedTokens {
  /** At least 1: if no token is shared, the first one is treated as shared. */
  readonly count: number;
  /** The largest number of sequences that share a token. */
  readonly copies: number;
  /** (count, copies): see `SharedPlaces`. */
  readonly copyPlaces: Int32Array;
  readonly copyPresent: Float32Array;
  /** For each row of the padded batch, in ascending order: the place of its first token that no earlier row has. */
  readonly starts: readonly number[];
}

/**
 * Lays out sequences of token ids. `offsets` has the position of each one's first token (default: 0). With `share`, tokens
 * of equal prefixes are one token, and the rows of the padded batch are in the order of their first own token, unless
 * there is only one token. Otherwise tokens and rows are in the order of the sequences.
 */
export function layOutSequences(
  sequences: readonly ArrayLike<number>[],
  { share = false, offsets = [] }: { readonly share?: boolean; readonly offsets?: readonly number[] } = {},
): Batch {
  const distinct = share ? mergePrefixes(sequences) : separate(sequences);
  const { tokenOf, starts, tokens } = distinct;
  const order = [...sequences.keys()].sort((a, b) => starts[a]! - starts[b]!);
  const length = sequences.reduce((longest, sequence) => Math.max(longest, sequence.length), 0);
  const ids = new Int32Array(tokens);
  const positions = new BigInt64Array(tokens);
  const tokenAt = new Int32Array(sequences.length * length);
  const placeOf = new Int32Array(tokens);
  const present = new Float32Array(sequences.length * length);
  order.forEach((index, row) => {
    tokenAt.set(tokenOf[index]!, row * length);
    for (let i = starts[index]!; i < sequences[index]!.length; i++) {
      const token = tokenOf[index]![i]!;
      ids[token] = sequences[index]![i]!;
      positions[token] = BigInt((offsets[index] ?? 0) + i);
      placeOf[token] = row * length + i;
      present[row * length + i] = 1;
    }
  });
  const batch = { tokens, length, sequences: sequences.length, ids, positions, tokenAt, placeOf, present, tokenOf };
  if (!share || tokens === 1) return batch;
  const [count, copies] = [Math.max(1, distinct.shared), distinct.copies];
  const [copyPlaces, copyPresent] = [new Int32Array(count * copies), new Float32Array(count * copies)];
  const found = new Int32Array(count);
  order.forEach((index, row) => {
    for (const [i, token] of tokenOf[index]!.entries()) {
      if (token >= count) continue;
      const copy = token * copies + found[token]!++;
      copyPlaces[copy] = row * length + i;
      copyPresent[copy] = 1;
    }
  });
  return { ...batch, shared: { count, copies, copyPlaces, copyPresent, starts: order.map((index) => starts[index]!) } };
}

function separate(sequences: readonly ArrayLike<number>[]): DistinctTokens {
  let tokens = 0;
  const tokenOf = sequences.map(({ length }) => Int32Array.from({ length }, () => tokens++));
  return { tokenOf, starts: sequences.map(() => 0), tokens, shared: 0, copies: 1 };
}

/**
 * Returns an attention mask of shape (length, group, length). It is 0 for keys that a query may attend to: those up to
 * its own position, within its window. It is minus infinity for all others.
 */
export function causalMask(length: number, group: number, window: number = length): Float32Array {
  const mask = new Float32Array(length * group * length).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < length * group; row++) {
    const end = Math.floor(row / group) + 1;
    mask.fill(0, row * length + Math.max(0, end - window), row * length + end);
  }
  return mask;
}

/** The inputs of the loss at each position with loss. The arrays have the names of the training graph's inputs. */
export interface LossPositions {
  /** The number of positions with loss, without the padding to whole chunks. */
  readonly count: number;
  readonly padded: number;
  readonly rows: Int32Array;
  /** The loss position of each token after the shared ones. `padded` for tokens without loss. */
  readonly positionOf: Int32Array;
  /** (shared, copies): the loss positions of each shared token, then `padded`. */
  readonly sharedPositions: Int32Array;
  readonly targets: Int32Array;
  readonly inverseTemperature: Float32Array;
  readonly weights: Float32Array;
  readonly advantages: Float32Array;
  readonly behaviour: Float32Array;
  readonly reference: Float32Array;
  readonly returns: Float32Array;
  readonly oldValues: Float32Array;
}

/**
 * Collects the positions with a nonzero loss mask, padded to a multiple of `multiple`. The padding repeats the last
 * position with weight 0. Its values are finite, so they stay 0 after the multiplication. The e^(-logprob) of an
 * unrelated token could be infinite.
 */
export function layOutLoss(data: readonly Datum[], batch: Batch, multiple: number): LossPositions {
  const { count: shared = 0, copies = 0 } = batch.shared ?? {};
  const count = countLossPositions(data);
  const padded = Math.ceil(count / multiple) * multiple;
  const positions = {
    count,
    padded,
    rows: new Int32Array(padded),
    positionOf: new Int32Array(batch.tokens - shared).fill(padded),
    sharedPositions: new Int32Array(shared * copies).fill(padded),
    targets: new Int32Array(padded),
    inverseTemperature: new Float32Array(padded),
    weights: new Float32Array(padded),
    advantages: new Float32Array(padded),
    behaviour: new Float32Array(padded),
    reference: new Float32Array(padded),
    returns: new Float32Array(padded),
    oldValues: new Float32Array(padded),
  };
  const found = new Int32Array(shared);
  let place = 0;
  for (const [index, datum] of data.entries()) {
    for (const [i, token] of batch.tokenOf[index]!.entries()) {
      if (datum.lossMask[i] === 0) continue;
      positions.rows[place] = token;
      if (token < shared) positions.sharedPositions[token * copies + found[token]!++] = place;
      else positions.positionOf[token - shared] = place;
      positions.targets[place] = datum.targets[i]!;
      positions.inverseTemperature[place] = 1 / (datum.temperature ?? 1);
      positions.weights[place] = datum.lossMask[i]!;
      positions.advantages[place] = datum.advantages?.[i] ?? 0;
      positions.behaviour[place] = datum.behaviourLogprobs?.[i] ?? 0;
      positions.reference[place] = datum.referenceLogprobs?.[i] ?? 0;
      positions.returns[place] = datum.returns?.[i] ?? 0;
      positions.oldValues[place] = datum.oldValues?.[i] ?? 0;
      place++;
    }
  }
  const { rows, targets, inverseTemperature, behaviour, reference, returns, oldValues } = positions;
  for (const values of [rows, targets, inverseTemperature, behaviour, reference, returns, oldValues]) {
    values.fill(values[count - 1]!, count);
  }
  return positions;
}

/**
 * Returns the supports of the positions of {@link layOutLoss} as bitmaps, with {@link supportWords} words per position.
 * A target without a support was sampled from the whole vocabulary.
 */
export function layOutSupports(
  data: readonly Datum[],
  { count, padded }: Pick<LossPositions, "count" | "padded">,
  vocabularySize: number,
): Int32Array {
  const width = supportWords(vocabularySize);
  const bitmaps = new Int32Array(padded * width);
  let place = 0;
  for (const { lossMask, supports } of data) {
    for (let t = 0; t < lossMask.length; t++) {
      if (lossMask[t] === 0) continue;
      writeSupport(supports?.[t] ?? null, bitmaps.subarray(place * width, (place + 1) * width));
      place++;
    }
  }
  for (; place < padded; place++) bitmaps.copyWithin(place * width, (count - 1) * width, count * width);
  return bitmaps;
}

/** True if a target with loss was sampled from a part of the vocabulary. */
export function hasSupports(data: readonly Datum[]): boolean {
  return data.some(({ lossMask, supports }) => supports?.some((support, t) => support !== null && lossMask[t] !== 0));
}

/** Counts the targets with a nonzero loss mask. */
export function countLossPositions(data: readonly Datum[]): number {
  let count = 0;
  for (const { lossMask } of data) for (const weight of lossMask) if (weight !== 0) count++;
  return count;
}
