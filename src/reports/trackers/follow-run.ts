import type { TrainingEvent } from "../../contract/training-event.ts";
import type { TrackedRun, TrackedSession, Tracker } from "./tracker.ts";

/** How long a run waits for a tracker, in milliseconds. */
export interface TrackerTimeLimits {
  readonly open: number;
  readonly write: number;
  readonly close: number;
}

/** Long enough for a slow network; short enough to sit through once. */
const trackerTimeLimits: TrackerTimeLimits = { open: 30_000, write: 10_000, close: 30_000 };

/** A tracker on one run. None of its calls rejects or lasts longer than the limits. */
export interface RunFollower {
  /** True once the tracker is open, whatever became of it. */
  readonly opened: boolean;
  /** Gives the tracker an event. The first failure gives what to tell a person; the tracker is left alone from then on. */
  write(event: TrainingEvent): Promise<string | undefined>;
  /** As `write`, at the end. */
  close(): Promise<string | undefined>;
}

/** Opens a tracker with the first event that it is given. */
export function followRun(
  tracker: Tracker,
  options: {
    readonly run: TrackedRun;
    readonly limits?: TrackerTimeLimits;
    /** Ends the wait for a tracker that opens. */
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
      return `${tracker.name} cannot be written; training goes on without it: ${reasonOf(error)}`;
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

/** Time to say why, for work whose signal aborted. */
const graceMs = 250;

/** Waits for work at most so long, whether it heeds its signal or not. */
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
