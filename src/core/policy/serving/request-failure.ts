import type { LyceumError } from "../../../contract/errors/index.ts";

/** A try that failed: with what, and whether another one may succeed. */
export class RequestFailure extends Error {
  readonly error: LyceumError;
  readonly transient: boolean;
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(options: {
    readonly error: LyceumError;
    readonly transient: boolean;
    readonly retryAfterMs?: number | undefined;
  }) {
    super(options.error.message, { cause: options.error });
    this.name = "RequestFailure";
    this.error = options.error;
    this.transient = options.transient;
    this.retryAfterMs = options.retryAfterMs;
  }
}
