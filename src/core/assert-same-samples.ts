import assert from "node:assert/strict";
import type { Sample } from "../contract/sampler.ts";

/**
 * Fails unless two lists of samples have the same ids and ends, and log-probabilities that differ by at most `tolerance`.
 * Equal requests give samples that are equal except for rounding, because the rows of a pass may differ between calls.
 */
export function assertSameSamples(actual: readonly Sample[], expected: readonly Sample[], tolerance = 1e-3): void {
  const discrete = ({ request, ids, finish }: Sample) => ({ request, ids: [...ids], finish });
  assert.deepEqual(actual.map(discrete), expected.map(discrete));
  for (const [i, { logprobs }] of actual.entries()) {
    for (const [t, logprob] of logprobs.entries()) {
      const difference = Math.abs(logprob - expected[i]!.logprobs[t]!);
      assert.ok(
        difference <= tolerance,
        `logprob ${t} of sample ${i} differs by ${difference}, which is more than rounding`,
      );
    }
  }
}
