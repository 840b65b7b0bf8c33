import { availableParallelism } from "node:os";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { machineMemory } from "../../src/core/machine-memory.ts";
import { warn } from "../../src/core/text/warn.ts";
import type { EnvironmentRunner } from "./environment-runner.ts";
import { startEnvironmentWorker } from "./environment-worker.ts";
import { workerPool } from "./worker-pool.ts";
import { workerSession } from "./worker-session.ts";

/** The options of {@link workerRunner}. */
export interface WorkerRunnerOptions {
  /**
   * The module that opens the environments, such as `new URL("./environments.ts", import.meta.url)`. It exports
   * `openEnvironments`, as {@link EnvironmentModule} describes.
   */
  readonly module: URL;
  /** The argument of `openEnvironments`. Each worker gets a copy, so it must be plain data. */
  readonly data?: unknown;
  /** The number of worker threads. The number of processors by default. */
  readonly workers?: number;
  /**
   * The timeout of one call of an environment in milliseconds. 240,000 by default. A call that does not end after it
   * throws `timeout`, and its session is closed. If the call blocks its thread, the thread is replaced.
   */
  readonly callMs?: number;
  /**
   * The limit of a worker's heap in megabytes. A worker that exceeds it is replaced. By default the workers share three
   * quarters of the memory, with at most 4,096 MB each. Typed arrays, which are outside the heap, have the same limit.
   * Their size is looked at four times a second, so that a fast loop can exceed it.
   */
  readonly heapMb?: number;
  /**
   * The maximum time for the start of a replacement in milliseconds. 600,000 by default. The first start has no limit,
   * because environments can download their data.
   */
  readonly restartMs?: number;
  /** The maximum time for closing the environments in milliseconds. 5,000 by default. */
  readonly closeMs?: number;
  /** Called when a worker ends or does not start. A warning of the process by default. */
  readonly onLoss?: (message: string) => void;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/**
 * Runs environments in worker threads, so that a slow or failing environment affects only the sessions of its own
 * thread. A session runs in the thread with the fewest sessions. If a thread ends, its sessions throw
 * `server.unknown-session`, and another thread replaces it. Actions, observations, rewards and states are copied between
 * threads, so they must be plain data. Throws the error of a module that cannot be opened.
 *
 * @example
 * import { isMainThread } from "node:worker_threads";
 * import { numberGuessingEnvironment } from "lyceum/environments";
 * import { workerRunner } from "lyceum/server";
 * export const openEnvironments = async () => ({
 *   environments: [{ name: "guess", definition: numberGuessingEnvironment() }],
 * });
 * if (isMainThread) {
 *   await using runner = await workerRunner({ module: new URL(import.meta.url), workers: 2 });
 *   await using session = await runner.open({ environment: "guess" });
 *   await session.reset({ seed: 1 });
 * }
 */
export async function workerRunner(options: WorkerRunnerOptions): Promise<EnvironmentRunner> {
  const { module, data, workers = availableParallelism(), callMs = 240_000, closeMs = 5_000, signal } = options;
  if (!Number.isInteger(workers) || workers < 1) throw workersError(workers);
  const {
    heapMb = defaultHeapMb(workers),
    restartMs = 600_000,
    onLoss = (message: string): void => warn("EnvironmentWorker", message),
  } = options;
  let environments: EnvironmentRunner["environments"] = [];
  const pool = await workerPool({
    workers,
    restartMs,
    waitMs: callMs,
    closeMs,
    onLoss,
    signal,
    start: async (stop, startMs) => {
      const worker = await startEnvironmentWorker({
        module: module.href,
        data,
        callMs,
        heapMb,
        startMs,
        signal: stop,
      });
      environments = worker.environments;
      return worker;
    },
  });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= pool.close();
    return closed;
  };
  return {
    environments,
    open: ({ environment, signal }) =>
      pool.withWorker((worker) => workerSession({ worker, environment, signal }), signal),
    tasks: ({ signal, ...range }) => pool.withWorker((worker) => worker.call("tasks", range, { signal }), signal),
    scoreGroup: ({ signal, ...group }) =>
      pool.withWorker((worker) => worker.call("scoreGroup", group, { signal }), signal),
    statistics: () => ({
      workers,
      readyWorkers: pool.ready,
      replacedWorkers: pool.replaced,
      workerSessions: pool.sessions,
    }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function defaultHeapMb(workers: number): number {
  return Math.max(128, Math.min(4_096, Math.floor((0.75 * machineMemory()) / workers / 2 ** 20)));
}

function workersError(workers: number): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The number of workers must be a positive whole number, got ${workers}.`,
    hint: "Use about as many workers as processors.",
    data: { workers },
  });
}
