import { createRandom } from "../../src/core/random/random.ts";
import type { Datum } from "../../trainers/backend/datum.ts";

/** A datum in plain arrays, as Python receives it. Its numbers are float32, so that both sides see the same. */
export interface PlainDatum {
  readonly tokens: number[];
  readonly targets: number[];
  readonly lossMask: number[];
  readonly advantages: number[];
  readonly behaviourLogprobs?: number[];
  readonly referenceLogprobs?: number[];
  readonly returns?: number[];
  readonly oldValues?: number[];
  readonly temperature?: number;
  /** The ids that each target was sampled from. Null if all. */
  readonly supports?: (number[] | null)[];
}

/** Sequences of random ids of these lengths. */
export function randomIds(options: {
  readonly lengths: readonly number[];
  readonly vocabularySize: number;
  readonly seed: number;
}): number[][] {
  const random = createRandom(options.seed);
  return options.lengths.map((length) => Array.from({ length }, () => random.integer(0, options.vocabularySize - 1)));
}

/** Data over ids: masks with zeros, ones and weights between, and normally distributed advantages. */
export function makeData(options: {
  readonly sequences: readonly (readonly number[])[];
  readonly seed: number;
  readonly temperature?: number;
}): PlainDatum[] {
  const { sequences, seed, temperature } = options;
  const random = createRandom(seed);
  return sequences.map((ids) => ({
    tokens: ids.slice(0, -1),
    targets: ids.slice(1),
    lossMask: ids.slice(1).map(() => random.pick([0, 1, 1, 0.5])),
    advantages: ids.slice(1).map(() => Math.fround(random.normal())),
    ...(temperature === undefined ? {} : { temperature }),
  }));
}

/**
 * The data with behaviour and reference log-probabilities near the current ones. The ratios are clearly inside or
 * outside a clip range of 0.2, so that rounding does not matter.
 */
export function withOldLogprobs(data: readonly PlainDatum[], current: readonly number[][], seed: number): PlainDatum[] {
  const random = createRandom(seed);
  return data.map((datum, index) => ({
    ...datum,
    behaviourLogprobs: current[index]!.map((logprob) => Math.fround(logprob + random.pick([-0.4, -0.05, 0.05, 0.4]))),
    referenceLogprobs: current[index]!.map((logprob) => Math.fround(logprob + 0.3 * random.normal())),
  }));
}

/** The data with returns, and old values above, below and near the predictions of a value head near 0. */
export function withReturns(data: readonly PlainDatum[], seed: number): PlainDatum[] {
  const random = createRandom(seed);
  return data.map((datum) => ({
    ...datum,
    returns: datum.tokens.map(() => Math.fround(random.normal())),
    oldValues: datum.tokens.map(() => Math.fround(0.5 * random.normal())),
  }));
}

/** The data with supports: for a third every token, for the others the target and up to nearly all other tokens. */
export function withSupports(
  data: readonly PlainDatum[],
  { vocabularySize, seed }: { readonly vocabularySize: number; readonly seed: number },
): PlainDatum[] {
  const random = createRandom(seed);
  const ids = Array.from({ length: vocabularySize }, (_, id) => id);
  const support = (target: number): number[] | null => {
    const share = random.pick([null, 0, 0.01, 0.3, 0.95, null]);
    return share === null ? null : ids.filter((id) => id === target || random.next() < share);
  };
  return data.map((datum) => ({ ...datum, supports: datum.targets.map(support) }));
}

/** The same datum in the form of a backend. */
export function toDatum(plain: PlainDatum): Datum {
  const { tokens, targets, lossMask, advantages, temperature } = plain;
  const { behaviourLogprobs, referenceLogprobs, returns, oldValues, supports } = plain;
  return {
    tokens: Int32Array.from(tokens),
    targets: Int32Array.from(targets),
    lossMask: Float32Array.from(lossMask),
    advantages: Float32Array.from(advantages),
    ...(behaviourLogprobs === undefined ? {} : { behaviourLogprobs: Float32Array.from(behaviourLogprobs) }),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: Float32Array.from(referenceLogprobs) }),
    ...(returns === undefined ? {} : { returns: Float32Array.from(returns) }),
    ...(oldValues === undefined ? {} : { oldValues: Float32Array.from(oldValues) }),
    ...(supports === undefined ? {} : { supports }),
    ...(temperature === undefined ? {} : { temperature }),
  };
}
