/** Expects how long the rest of a run takes. */
export interface StepTimer {
  /** Called when a step has ended: the milliseconds that the steps `left` will take. */
  stepEnded(options: { readonly left: number }): number;
}

/**
 * A timer for the steps from now on. It expects the mean time from the end of a step to the end of the next, so that
 * evaluations and checkpoints count. The first step, which prepares what the others reuse, counts only while it is the
 * only one. `now` is a clock in milliseconds.
 */
export function startStepTimer(now: () => number = () => performance.now()): StepTimer {
  const started = now();
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
