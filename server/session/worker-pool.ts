import { setTimeout as delay } from "node:timers/promises";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { untilAborted } from "../../src/core/concurrency/until-aborted.ts";
import type { EnvironmentWorker } from "./environment-worker.ts";
import { closedRunnerError } from "./local-runner.ts";

/** The delays between two starts of a worker that does not stay alive, in milliseconds. */
const shortestDelayMs = 100;
const longestDelayMs = 30_000;
/** A worker that ran this long has no failures to count, in milliseconds. */
const stableMs = 60_000;

/** The options of {@link workerPool}. */
export interface WorkerPoolOptions {
  readonly workers: number;
  /** Starts a worker within a time in milliseconds. Rejects with the signal's reason if it aborts. */
  readonly start: (signal: AbortSignal, ms: number) => Promise<EnvironmentWorker>;
  /** The maximum time for the start of a replacement in milliseconds. The first start has no limit. */
  readonly restartMs: number;
  /** The maximum time to wait for a worker in milliseconds. */
  readonly waitMs: number;
  /** The maximum time for closing in milliseconds. */
  readonly closeMs: number;
  /** Called when a worker ends or does not start. */
  readonly onLoss: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** Worker threads that are replaced when they end. */
export interface WorkerPool {
  /** The number of workers that accept calls. */
  readonly ready: number;
  /** The number of workers that were replaced. */
  readonly replaced: number;
  /** The number of sessions of all workers. */
  readonly sessions: number;
  /**
   * Makes a call with the worker that has the fewest sessions. Prefers those that are not blocked. Waits if all workers
   * are being replaced, and throws `server.capacity` after the maximum time.
   */
  withWorker<T>(call: (worker: EnvironmentWorker) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Closes the environments of all workers and ends the threads. */
  close(): Promise<void>;
}

/** Starts the first worker, then the others, so that those find in caches what the first one has loaded. */
export async function workerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { start, restartMs, waitMs, closeMs, onLoss } = options;
  const closing = new AbortController();
  const ready = new Set<EnvironmentWorker>();
  let replaced = 0;
  let arrival = Promise.withResolvers<void>();

  /** Keeps one worker running. Returns when the pool is closed. */
  const keep = async (first: EnvironmentWorker): Promise<void> => {
    let failures = 0;
    for (let worker: EnvironmentWorker | undefined = first; worker !== undefined; ) {
      const since = performance.now();
      ready.add(worker);
      arrival.resolve();
      const reason = await worker.ended;
      ready.delete(worker);
      if (ready.size === 0) arrival = Promise.withResolvers();
      if (closing.signal.aborted) return;
      onLoss(`A worker of the environments ended: ${reason}. Its sessions are lost, and it is replaced.`);
      failures = performance.now() - since > stableMs ? 0 : failures + 1;
      worker = await restart(failures);
      replaced += 1;
    }
  };
  const restart = async (failures: number): Promise<EnvironmentWorker | undefined> => {
    for (let failed = failures; !closing.signal.aborted; failed++) {
      try {
        const ms = Math.min(longestDelayMs, shortestDelayMs * 2 ** Math.max(0, failed - 1));
        await delay(ms, undefined, { signal: closing.signal, ref: false });
        return await start(closing.signal, restartMs);
      } catch (error) {
        if (!closing.signal.aborted) onLoss(`A worker of the environments does not start: ${String(error)}`);
      }
    }
    return undefined;
  };

  const untilReady = async (signal: AbortSignal | undefined): Promise<void> => {
    const late = AbortSignal.timeout(waitMs);
    const stop = AbortSignal.any([late, closing.signal, ...(signal === undefined ? [] : [signal])]);
    while (ready.size === 0 || stop.aborted) {
      await untilAborted(arrival.promise, stop).catch((error: unknown) => {
        throw late.aborted ? noWorkerError() : error;
      });
    }
  };

  const started = await startAll(options);
  const kept = started.map(keep);

  return {
    get ready() {
      return ready.size;
    },
    get replaced() {
      return replaced;
    },
    get sessions() {
      return [...ready].reduce((sum, worker) => sum + worker.sessions, 0);
    },
    withWorker: async (call, signal) => {
      signal?.throwIfAborted();
      closing.signal.throwIfAborted();
      // Without a timer in the usual case: a timer of each call would stay in memory until it ends.
      if (ready.size === 0) await untilReady(signal);
      // At once, so that a session counts before the next worker is chosen.
      return call(least(ready));
    },
    close: async () => {
      closing.abort(closedRunnerError());
      await Promise.all([...ready].map((worker) => end(worker, closeMs)));
      await Promise.all(kept);
    },
  };
}

async function startAll({ workers, start, signal }: WorkerPoolOptions): Promise<EnvironmentWorker[]> {
  const failed = new AbortController();
  const stop = AbortSignal.any([failed.signal, ...(signal === undefined ? [] : [signal])]);
  const first = await start(stop, Infinity);
  const others = Array.from({ length: workers - 1 }, () => start(stop, Infinity));
  try {
    return [first, ...(await Promise.all(others))];
  } catch (error) {
    failed.abort(error);
    const settled = await Promise.allSettled(others);
    const running = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    await Promise.all([first, ...running].map((worker) => worker.stop("another worker did not start")));
    throw error;
  }
}

function least(workers: Iterable<EnvironmentWorker>): EnvironmentWorker {
  const order = (a: EnvironmentWorker, b: EnvironmentWorker): number =>
    Number(a.isBlocked) - Number(b.isBlocked) || a.sessions - b.sessions;
  return [...workers].sort(order)[0]!;
}

/** Closes the environments of a worker, for at most `ms`, and ends the thread. */
async function end(worker: EnvironmentWorker, ms: number): Promise<void> {
  await untilAborted(worker.call("end", undefined, { ms: Infinity }), AbortSignal.timeout(ms)).catch(() => {});
  await worker.stop("the server has closed it");
}

function noWorkerError(): LyceumError {
  return new LyceumError({
    code: "server.capacity",
    message: "No worker of the server is ready: they ended and are replaced.",
    hint: "Try again. If it stays so, the server's output says why they end.",
  });
}
