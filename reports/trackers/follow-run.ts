import type { TrackedRun, TrackedSession, Tracker } from "../../src/contract/tracker.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";

/** The maximum time that a run waits for a tracker, in milliseconds. */
export interface TrackerTimeLimits {
  readonly open: number;
  readonly write: number;
  readonly close: number;
}

/** Long enough for a slow network, and short enough to wait for once. */
const trackerTimeLimits: TrackerTimeLimits = { open: 30_000, write: 10_000, close: 30_000 };

/** Connects a tracker with one run. Its calls never reject and never exceed the time limits. */
export interface RunFollower {
  /** True after the tracker has been opened, even if it has failed since. */
  readonly opened: boolean;
  /**
   * Passes an event to the tracker. Resolves with a warning text at the first failure. The tracker gets no more events
   * then.
   */
  write(event: TrainingEvent): Promise<string | undefined>;
  /** Closes the tracker. Resolves like `write`. */
  close(): Promise<string | undefined>;
}

/** Creates a follower. It opens the tracker with the first event. */
export function followRun(
  tracker: Tracker,
  options: {
    readonly run: TrackedRun;
    readonly limits?: TrackerTimeLimits;
    /** Aborts the wait for the tracker to open. */
    readonly signal?: AbortSignal;
  },
): RunFollower {
  const { run, limits = trackerTimeLimits, signal } = options;
  let session: TrackedSession | undefined;
  let failed = false;

  const attempt = async (work: () => Promise<unknown>): Promise<string | undefined> => {
    if (failed) return undefined;
    try {
      await work();
      return undefined;
    } catch (error) {
      failed = true;
      return `${tracker.name} cannot be written. Training goes on without it: ${reasonOf(error)}`;
    }
  };
  return {
    get opened() {
      return session !== undefined;
    },
    write: (event) =>
      attempt(async () => {
        session ??= await within(limits.open, signal, (limit) => tracker.open(run, { signal: limit }));
        const opened = session;
        await within(limits.write, undefined, (limit) => opened.write(event, { signal: limit }));
      }),
    close: async () => {
      const opened = session;
      if (opened === undefined) return undefined;
      const failedBefore = failed;
      failed = false;
      const problem = await attempt(() => within(limits.close, undefined, (limit) => opened.close({ signal: limit })));
      return failedBefore ? undefined : problem;
    },
  };
}

/** The time in which work may throw its own error after its signal has aborted. */
const graceMs = 250;

/** Waits for work up to a time limit, even if the work ignores its signal. */
async function within<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer?.reason);
  outer?.addEventListener("abort", stop, { once: true });
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const timers = [
    setTimeout(() => controller.abort(new Error(`no answer within ${milliseconds / 1000} s`)), milliseconds),
  ];
  const giveUp = (): void => {
    timers.push(setTimeout(() => reject(controller.signal.reason), graceMs));
  };
  controller.signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    controller.signal.removeEventListener("abort", giveUp);
    outer?.removeEventListener("abort", stop);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
