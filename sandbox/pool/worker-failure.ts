import { LyceumError } from "../../src/contract/errors/index.ts";

/** The processes of a worker ended or did not answer, while it started or during a job. Another worker may succeed. */
export class WorkerFailure extends LyceumError {
  /** True if something outside of the worker ended it: no code of a job, and no fault of its own program. */
  readonly fromOutside: boolean;

  constructor(message: string, options: { readonly fromOutside: boolean; readonly cause?: unknown }) {
    const hint = "It is restarted. If this happens often, check the machine's memory and the sandbox's limits.";
    super({ code: "sandbox.unavailable", message: message.trim(), hint, cause: options.cause });
    this.fromOutside = options.fromOutside;
  }

  /** Returns this failure for a worker whose code may be the cause. */
  ofUnknownCause(): WorkerFailure {
    return new WorkerFailure(this.message, { fromOutside: false, cause: this });
  }
}
