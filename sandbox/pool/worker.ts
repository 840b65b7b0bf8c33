import type { ExecuteRequest, ExecuteResult } from "../execution.ts";
import type { Limits } from "../limits.ts";

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
};

/**
 * One or several processes that run one job at a time. The result describes what the code did. `run` rejects if the
 * worker itself failed or was killed. The pool closes a worker after a rejection, or if `reusable` is false.
 */
export interface Worker extends AsyncDisposable {
  /** Runs a job. If the signal aborts, the job's processes are killed and `run` settles soon. */
  run(job: Job, signal: AbortSignal): Promise<WorkerResult>;
  /** False if the worker should be replaced, because it was killed or its memory has grown. */
  readonly reusable: boolean;
}

/** Starts a worker. Rejects with `sandbox.unavailable` if workers cannot run on this machine. */
export type StartWorker = (options: { readonly id: string; readonly signal: AbortSignal }) => Promise<Worker>;
