import type { LyceumError } from "../../../contract/errors/index.ts";

/** A failed try. It is transient if a retry may succeed. */
export class RequestFailure extends Error {
  readonly error: LyceumError;
  readonly transient: boolean;
  /** The wait that the server asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The error instead, if the server has refused several prompts and answered none. */
  readonly ifNoneAnswered: LyceumError | undefined;
  /** True if the server charges for the answer, so that an equal failure ends the retries. */
  readonly charged: boolean;

  constructor(options: {
    readonly error: LyceumError;
    readonly transient: boolean;
    readonly retryAfterMs?: number | undefined;
    readonly ifNoneAnswered?: LyceumError | undefined;
    readonly charged?: boolean;
  }) {
    super(options.error.message, { cause: options.error });
    this.name = "RequestFailure";
    this.error = options.error;
    this.transient = options.transient;
    this.retryAfterMs = options.retryAfterMs;
    this.ifNoneAnswered = options.ifNoneAnswered;
    this.charged = options.charged ?? false;
  }
}
