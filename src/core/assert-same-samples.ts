import assert from "node:assert/strict";
import type { Sample } from "../contract/sampler.ts";

/**
 * Fails if two lists of samples differ. Log-probabilities and values may differ by `tolerance`: 0 for a sampler that gives
 * equal samples for equal requests, and more if the rows of a pass differ between calls.
 */
export function assertSameSamples(actual: readonly Sample[], expected: readonly Sample[], tolerance: number): void {
  assert.deepEqual(actual.map(exactParts), expected.map(exactParts));
  for (const [i, sample] of actual.entries()) {
    for (const [name, numbers] of Object.entries(roundedParts(sample))) {
      const others = roundedParts(expected[i]!)[name]!;
      for (const [place, number] of numbers.entries()) {
        const difference = number === others[place] ? 0 : Math.abs(number - others[place]!);
        assert.ok(difference <= tolerance, `${name} ${place} of sample ${i} differs by ${difference}, not by rounding`);
      }
    }
  }
}

/** The parts that rounding does not change, and the lengths of the others. */
function exactParts(sample: Sample): object {
  const { request, ids, finish, stopString, supports, logprobs, values, topLogprobs } = sample;
  return {
    ...{ request, ids: [...ids], finish, stopString, supports },
    ...{
      logprobs: logprobs.length,
      values: values?.length,
      topLogprobs: topLogprobs?.map((top) => top.map(([id]) => id)),
    },
  };
}

function roundedParts({ logprobs, values = [], topLogprobs = [] }: Sample): Record<string, readonly number[]> {
  return { logprob: [...logprobs], value: [...values], topLogprob: topLogprobs.flat().map(([, logprob]) => logprob) };
}
