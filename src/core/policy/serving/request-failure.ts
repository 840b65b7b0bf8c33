import type { LyceumError } from "../../../contract/errors/index.ts";

/** A failed try. It is transient if a retry may succeed. */
export class RequestFailure extends Error {
  readonly error: LyceumError;
  readonly transient: boolean;
  /** The wait that the server asks for, in milliseconds. */
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
