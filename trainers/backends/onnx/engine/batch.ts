import { supportWords, writeSupport } from "../../../../src/contract/token-support.ts";
import type { Datum } from "../../../backend/datum.ts";

/**
 * The sequences of one run, concatenated. Only attention is padded. The arrays have the names of the training graph's
 * inputs.
 */
export interface Batch {
  readonly tokens: number;
  readonly length: number;
  readonly sequences: number;
  readonly ids: Int32Array;
  /** The index of each token in its sequence. */
  readonly positions: BigInt64Array;
  readonly tokenAt: Int32Array;
  readonly placeOf: Int32Array;
  readonly present: Float32Array;
}

/** Lays out sequences of token ids, in order. `starts` has the position of each one's first token. Default: 0. */
export function layOutSequences(sequences: readonly ArrayLike<number>[], starts: readonly number[] = []): Batch {
  const length = sequences.reduce((longest, sequence) => Math.max(longest, sequence.length), 0);
  const tokens = sequences.reduce((sum, sequence) => sum + sequence.length, 0);
  const ids = new Int32Array(tokens);
  const positions = new BigInt64Array(tokens);
  const tokenAt = new Int32Array(sequences.length * length);
  const placeOf = new Int32Array(tokens);
  const present = new Float32Array(sequences.length * length);
  let token = 0;
  sequences.forEach((sequence, row) => {
    const start = starts[row] ?? 0;
    for (let i = 0; i < sequence.length; i++) {
      const place = row * length + i;
      ids[token] = sequence[i]!;
      positions[token] = BigInt(start + i);
      tokenAt[place] = token;
      placeOf[token] = place;
      present[place] = 1;
      token++;
    }
  });
  return { tokens, length, sequences: sequences.length, ids, positions, tokenAt, placeOf, present };
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
  /** The loss position of each token. `padded` for tokens without loss. */
  readonly positionOf: Int32Array;
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
export function layOutLoss(data: readonly Datum[], tokens: number, multiple: number): LossPositions {
  const count = countLossPositions(data);
  const padded = Math.ceil(count / multiple) * multiple;
  const positions = {
    count,
    padded,
    rows: new Int32Array(padded),
    positionOf: new Int32Array(tokens).fill(padded),
    targets: new Int32Array(padded),
    inverseTemperature: new Float32Array(padded),
    weights: new Float32Array(padded),
    advantages: new Float32Array(padded),
    behaviour: new Float32Array(padded),
    reference: new Float32Array(padded),
    returns: new Float32Array(padded),
    oldValues: new Float32Array(padded),
  };
  let place = 0;
  let token = 0;
  for (const datum of data) {
    for (let i = 0; i < datum.tokens.length; i++, token++) {
      if (datum.lossMask[i] === 0) continue;
      positions.rows[place] = token;
      positions.positionOf[token] = place;
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
