import type { Datum } from "../backend/datum.ts";

/** The cap of importance weights if batches are played ahead. 2 is the usual cap of truncated importance sampling. */
export const staleCap = 2;

/**
 * Corrects a datum that earlier weights sampled: multiplies each advantage by min(cap, exp(l - q)), where l is the
 * log-probability of the weights that learn and q that of the sampler, and sets q to l. Truncated importance sampling.
 */
export function withImportanceWeights(datum: Datum, logprobs: Float32Array, cap: number): Datum {
  const { advantages, behaviourLogprobs } = datum;
  if (advantages === undefined || behaviourLogprobs === undefined) return datum;
  return {
    ...datum,
    behaviourLogprobs: logprobs,
    advantages: advantages.map(
      (advantage, t) => advantage * Math.min(cap, Math.exp(logprobs[t]! - behaviourLogprobs[t]!)),
    ),
  };
}

/** Returns the sum over tokens of k3 estimates of the sampler's divergence from the trainer. */
export function samplerDivergence({ lossMask, behaviourLogprobs }: Datum, logprobs: Float32Array): number {
  let sum = 0;
  for (const [t, mask] of lossMask.entries()) {
    if (mask === 0 || behaviourLogprobs === undefined) continue;
    const distance = logprobs[t]! - behaviourLogprobs[t]!;
    sum += Math.expm1(distance) - distance;
  }
  return sum;
}
