/** Estimates the remaining time of a run. */
export interface StepTimer {
  /** Called after a step. Returns the estimated time of the `left` remaining steps, in milliseconds. */
  stepEnded(options: { readonly left: number }): number;
}

/**
 * Starts a timer. Its estimate is the mean time from the end of a step to the end of the next, so evaluations and
 * checkpoints count. The first step is slower, because it builds graphs. It counts only if it is the only one. `spentMs`
 * is what it has taken before the call, and `now` is a clock in milliseconds.
 */
export function startStepTimer({
  spentMs = 0,
  now = () => performance.now(),
}: {
  readonly spentMs?: number;
  readonly now?: () => number;
} = {}): StepTimer {
  const started = now() - spentMs;
  let firstEnded: number | undefined;
  let more = 0;
  return {
    stepEnded: ({ left }) => {
      const ended = now();
      if (firstEnded === undefined) {
        firstEnded = ended;
        return (ended - started) * left;
      }
      more++;
      return ((ended - firstEnded) / more) * left;
    },
  };
}
