import type { Json } from "../json.ts";

const brand = Symbol.for("lyceum.error");

/**
 * What went wrong, in one word per case. The part before the dot names the subclass that carries it.
 * Add a code here, with its line, before throwing it.
 */
export type ErrorCode =
  /** A configuration file or value is not what the schema asks for. */
  | "config.invalid"
  /** A name (environment, algorithm, device, ...) is not registered. */
  | "config.unknown-name"
  /** A file or hub repository that was named does not exist or cannot be read. */
  | "data.not-found"
  /** A file exists and its content is malformed. */
  | "data.malformed"
  /** A split, slice or index does not exist in the taskset. */
  | "data.out-of-range"
  /** A row of training data has more tokens than the model reads. */
  | "data.too-long"
  /** A download failed, or the network is closed. */
  | "data.unavailable"
  /** A model folder lacks a file, or a file lacks a tensor or a key. */
  | "model.missing"
  /** A weights file or model config is malformed. */
  | "model.malformed"
  /** The model's architecture or an option of it is not one the engine builds. */
  | "model.unsupported"
  /** An adapter was trained on another base model than the one that it is opened with. */
  | "model.mismatch"
  /** The tokenizer has no chat template, or the template fails. */
  | "model.template"
  /** An environment broke its contract: it acted after the end, named an unknown agent, ... */
  | "environment.contract"
  /** An environment threw. */
  | "environment.failed"
  /** A policy cannot take this input (a part type, tools). */
  | "policy.unsupported-input"
  /** A prompt leaves no room for an answer in the model's context. */
  | "policy.prompt-too-long"
  /** A policy threw, answered what cannot be, or has no answer for this turn (a script, a recording). */
  | "policy.failed"
  /** A server behind a policy wants a key, or refuses the one it got: every request would fail. */
  | "policy.unauthorized"
  /** A server behind a policy refuses this request (its model, its settings, its content): it would do so again. */
  | "policy.rejected"
  /** A server behind a policy did not answer, or not sensibly, however often it was asked. */
  | "policy.unavailable"
  /** The backend cannot do what was asked (a loss, a sampling setting, a device). */
  | "backend.unsupported"
  /** The runtime under the backend failed. */
  | "backend.failed"
  /** A loss, gradient or weight is NaN or infinite. */
  | "backend.not-finite"
  /** A checkpoint could not be written; the previous one is intact. */
  | "checkpoint.write-failed"
  /** A checkpoint is missing, incomplete, or belongs to another run. */
  | "checkpoint.unusable"
  /** A trace could not be written; the episodes written before are intact. */
  | "trace.write-failed"
  /** A report could not be written; the run's metrics are intact. */
  | "report.write-failed"
  /** A program that follows a run, such as MLflow, refuses or does not answer; the training goes on. */
  | "tracker.failed"
  /** An evaluation came to less, or more, than was asked of it. */
  | "evaluation.threshold"
  /** A sandbox cannot run this request: another language, a missing entry. */
  | "sandbox.request"
  /** What a sandbox needs is not on this machine, or its workers do not start. */
  | "sandbox.unavailable"
  /** A sandbox was used after it was closed. */
  | "sandbox.closed"
  /** The caller's signal aborted the operation. */
  | "aborted"
  /** A time limit was reached and what was waited for has been stopped. */
  | "timeout"
  /** A bug in Lyceum itself. */
  | "internal";

/** An error as data: what stands in a trace, in a reward, or crosses a thread. */
export interface ErrorData {
  readonly name: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly data?: Json;
}

/** What every Lyceum error is made of. */
export interface LyceumErrorOptions {
  readonly code: ErrorCode;
  /** What happened, and to what. */
  readonly message: string;
  /** What to do next. Shown after the message. */
  readonly hint?: string;
  /** Facts for programs: a path, a line, a list of known names. */
  readonly data?: Json;
  readonly cause?: unknown;
}

/**
 * The base of every error that Lyceum throws on purpose. Tell errors apart by `code`; `LyceumError.isInstance`
 * works across two copies of the package, where `instanceof` does not.
 */
export class LyceumError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Json | undefined;

  constructor(options: LyceumErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, brand, { value: true });
    this.name = "LyceumError";
    this.code = options.code;
    this.hint = options.hint;
    this.data = options.data;
  }

  /** True for every Lyceum error, from this copy of the package or another. */
  static isInstance(value: unknown): value is LyceumError {
    return typeof value === "object" && value !== null && brand in value;
  }

  /** This error as plain data, without stack or cause. */
  toData(): ErrorData {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.data === undefined ? {} : { data: this.data }),
    };
  }
}
