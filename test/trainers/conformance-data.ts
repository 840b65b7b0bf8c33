import { expect } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../trainers/backend/datum.ts";
import type { AdamParams } from "../../trainers/backend/training-backend.ts";

export const adam: AdamParams = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
};

/** Four sequences of different lengths over the ids 33 to 126, with all per-token fields. */
export function exampleData(seed: number): Datum[] {
  const random = createRandom(seed);
  return [9, 4, 12, 6].map((length) => {
    const ids = Array.from({ length }, () => random.integer(33, 126));
    const prompt = random.integer(1, 3);
    const mask = ids.map((_, i) => (i < prompt ? 0 : 1));
    const logprobs = ids.map((_, i) => (mask[i] === 0 ? 0 : -4 - 2 * random.next()));
    const datum = datumFromIds({ ids, mask, logprobs });
    return {
      ...datum,
      advantages: datum.lossMask.map((weight) => weight * random.normal()),
      referenceLogprobs: datum.lossMask.map((weight) => weight * (-4 - 2 * random.next())),
      returns: datum.lossMask.map((weight) => weight * random.normal()),
      oldValues: datum.lossMask.map((weight) => weight * 0.2 * random.normal()),
    };
  });
}

/** Fails if two arrays differ by more than `tolerance` at any index. */
export function expectClose(actual: Float32Array, expected: Float32Array, tolerance: number): void {
  expect(actual).toHaveLength(expected.length);
  let worst = 0;
  for (const [t, value] of actual.entries()) worst = Math.max(worst, Math.abs(value - expected[t]!));
  expect(worst).toBeLessThanOrEqual(tolerance);
}

/** |actual - expected| / |expected|. */
export function relative(actual: number, expected: number): number {
  return Math.abs(actual - expected) / Math.abs(expected);
}
