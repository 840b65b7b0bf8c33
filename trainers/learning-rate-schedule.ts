/** How the learning rate moves over a run. */
export interface LearningRateSchedule {
  /** The learning rate after warm-up. */
  readonly peak: number;
  readonly shape: "constant" | "linear" | "cosine";
  /** Steps over which it rises linearly from 0; step `warmupSteps` is the first at the peak. */
  readonly warmupSteps: number;
  /** What is left of the peak at the last step, for `linear` and `cosine`. */
  readonly finalFraction: number;
  /** Steps of the whole run. */
  readonly steps: number;
}

/**
 * The learning rate of one step, from 1. Cosine: Loshchilov and Hutter 2016, https://arxiv.org/abs/1608.03983, eq. 5,
 * without restarts.
 */
export function learningRateAt(schedule: LearningRateSchedule, step: number): number {
  const { peak, shape, warmupSteps, finalFraction, steps } = schedule;
  if (step < warmupSteps) return (peak * step) / warmupSteps;
  if (shape === "constant") return peak;
  const start = Math.max(1, warmupSteps);
  const progress = steps > start ? Math.min(1, (step - start) / (steps - start)) : 0;
  const remaining = shape === "linear" ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return peak * (finalFraction + (1 - finalFraction) * remaining);
}
