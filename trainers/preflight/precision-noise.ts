import type { Capabilities } from "../backend/training-backend.ts";
import type { Difference } from "./preflight-check.ts";

/**
 * The largest differences between the log-probabilities of a sampler and of a trainer that rounding explains, by the
 * precision of matrix products. Measured ratios of float32 differ from 1 by less than 2e-5 at a vocabulary of 49,152.
 * The others allow for engines that round activations in other places.
 */
const noises: Readonly<Record<NonNullable<Capabilities["precision"]>, Difference>> = {
  float32: { mean: 1e-4, max: 2e-3 },
  float16: { mean: 0.01, max: 0.15 },
  bfloat16: { mean: 0.03, max: 0.6 },
};

/** Returns the noise of a backend's precision. */
export function precisionNoise({ precision = "float32" }: Pick<Capabilities, "precision">): Difference {
  return noises[precision];
}

/** True if rounding does not explain the difference. */
export function exceeds(difference: Difference, noise: Difference): boolean {
  return difference.mean > noise.mean || difference.max > noise.max;
}
