import type { ExecuteRequest, ExecuteResult } from "../execution.ts";
import type { Limits } from "../limits.ts";

/** A request as a worker gets it: nothing left to default. */
export interface Job {
  readonly id: string;
  readonly request: ExecuteRequest;
  readonly limits: Limits;
  readonly seed: number;
}

/** What a worker says of a job; the pool adds the rest. */
export type WorkerResult = Omit<ExecuteResult, "id" | "worker" | "attempts" | "usage"> & {
  readonly usage: Omit<ExecuteResult["usage"], "queueMs">;
};

/**
 * A process, or several, that runs one job at a time. What the code does is in the result; `run` rejects where the
 * worker itself failed or was killed. After a rejection, and where `reusable` is false, the pool closes it.
 */
export interface Worker extends AsyncDisposable {
  /** When the signal aborts, the job's processes are killed, and `run` settles soon. */
  run(job: Job, signal: AbortSignal): Promise<WorkerResult>;
  /** False once it should be replaced: it was killed, or has grown. */
  readonly reusable: boolean;
}

/** Starts a worker; rejects with `sandbox.unavailable` where that cannot work on this machine. */
export type StartWorker = (options: { readonly id: string; readonly signal: AbortSignal }) => Promise<Worker>;
