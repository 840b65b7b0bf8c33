/** A learning-rate schedule. */
export interface LearningRateSchedule {
  /** The learning rate after warm-up. */
  readonly peak: number;
  readonly shape: "constant" | "linear" | "cosine";
  /** The number of steps over which it rises linearly from 0. Step `warmupSteps` is the first at the peak. */
  readonly warmupSteps: number;
  /** The fraction of the peak that `linear` and `cosine` reach after the last step. */
  readonly finalFraction: number;
  /** The number of steps of the whole run. */
  readonly steps: number;
}

/**
 * Returns the learning rate of a step, counted from 1. `linear` and `cosine` reach their final fraction after the last
 * step, as in `transformers`, so that the last batch also trains. Cosine: Loshchilov and Hutter 2016,
 * https://arxiv.org/abs/1608.03983, eq. 5, without restarts.
 */
export function learningRateAt(schedule: LearningRateSchedule, step: number): number {
  const { peak, shape, warmupSteps, finalFraction, steps } = schedule;
  if (step < warmupSteps) return (peak * step) / warmupSteps;
  if (shape === "constant") return peak;
  const start = Math.max(1, warmupSteps);
  const progress = steps > start ? Math.min(1, (step - start) / (steps + 1 - start)) : 0;
  const remaining = shape === "linear" ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return peak * (finalFraction + (1 - finalFraction) * remaining);
}
