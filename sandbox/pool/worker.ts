import type { ExecuteRequest, ExecuteResult } from "../execution.ts";
import type { Limits } from "../limits.ts";
import type { StartProgress } from "./watched-start.ts";

/** A request with all defaults filled in, as a worker receives it. */
export interface Job {
  readonly id: string;
  readonly request: ExecuteRequest;
  readonly limits: Limits;
  readonly seed: number;
}

/** The result of a job as a worker returns it. The pool adds the remaining fields. */
export type WorkerResult = Omit<ExecuteResult, "id" | "worker" | "attempts" | "usage"> & {
  readonly usage: Omit<ExecuteResult["usage"], "queueMs">;
  /** True if a signal ended the job that its code cannot have caused. False by default. */
  readonly endedFromOutside?: boolean | undefined;
};

/**
 * One or several processes that run one job at a time. The result describes what the code did. `run` rejects if the
 * worker itself failed or was killed, by a `WorkerFailure` if it is known who is at fault. The pool closes a worker after a rejection, or if `reusable` is false.
 */
export interface Worker extends AsyncDisposable {
  /** Runs a job. If the signal aborts, the job's processes are killed and `run` settles soon. */
  run(job: Job, signal: AbortSignal): Promise<WorkerResult>;
  /** False if the worker should be replaced, because it was killed or its memory has grown. */
  readonly reusable: boolean;
}

/**
 * Starts a worker and reports its progress. Rejects with `sandbox.unavailable` if workers cannot run on this machine, and
 * with a `WorkerFailure` if another start may succeed. If the signal aborts, what was started is killed.
 */
export type StartWorker = (progress: StartProgress) => Promise<Worker>;
