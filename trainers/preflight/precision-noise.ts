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

/** A gap after an update may be this many times the gap before it. */
const growth = 20;
/** The least gap that counts, if there was none before. It is above the rounding of float32. */
const least: Difference = { mean: 1e-5, max: 1e-4 };

/**
 * Returns the largest difference after an update that rounding explains. The difference before the update measures the
 * noise of this model on these tokens, which is usually much smaller than the limit of its precision. So an adapter
 * without one of its layers is found even if the layer has little effect.
 */
export function noiseAfterUpdate(before: Difference, noise: Difference): Difference {
  const limit = (key: keyof Difference): number => Math.min(noise[key], Math.max(least[key], growth * before[key]));
  return { mean: limit("mean"), max: limit("max") };
}

/** True if rounding does not explain the difference. */
export function exceeds(difference: Difference, noise: Difference): boolean {
  return difference.mean > noise.mean || difference.max > noise.max;
}
