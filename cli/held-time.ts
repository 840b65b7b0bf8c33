/** What another thread sees of a thread at one time. Times are in milliseconds. */
export interface ThreadSample {
  readonly at: number;
  /** A number that changes when the thread gets on: the event loop turns, or a call begins or ends. */
  readonly progress: number;
  /** The processor time that the thread has used. */
  readonly computed: number;
  /** The time that the thread has waited for a processor. */
  readonly waited: number;
  /** True if the thread waits for something other than a processor. */
  readonly sleeping: boolean;
}

/**
 * Returns how long a thread has been held by its own code, without getting on: by computing, or by a wait that blocks
 * it. Time in which it waited for a processor does not count, so a starved thread is never held. `held` is the time up
 * to `before`. Samples that are more than `maxGapMs` apart say nothing about waits, because the sampling thread itself
 * was starved or stopped.
 */
export function heldTime(
  held: number,
  samples: { readonly before: ThreadSample; readonly after: ThreadSample; readonly maxGapMs: number },
): number {
  const { before, after, maxGapMs } = samples;
  if (after.progress !== before.progress) return 0;
  const passed = Math.max(0, after.at - before.at);
  // The time in a queue is only known when the thread has left the queue, so a thread must sleep at both ends.
  const slept = before.sleeping && after.sleeping && passed <= maxGapMs;
  const own = slept ? passed - (after.waited - before.waited) : after.computed - before.computed;
  return held + Math.min(passed, Math.max(0, own));
}
