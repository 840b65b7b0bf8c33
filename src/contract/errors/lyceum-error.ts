import type { Json } from "../json.ts";

const brand = Symbol.for("lyceum.error");

/**
 * The kinds of errors. The part before the dot names the area that throws it. Each code is described here before it is
 * used.
 *
 * @example
 * import type { ErrorCode } from "lyceum";
 * const worthRetrying: readonly ErrorCode[] = ["data.unavailable", "policy.unavailable", "timeout"];
 * worthRetrying.includes("timeout"); // => true
 */
export type ErrorCode =
  /** A configuration file or value does not match the schema. */
  | "config.invalid"
  /** A name (environment, algorithm, device, ...) is not registered. */
  | "config.unknown-name"
  /** A file or a hub repository does not exist or cannot be read. */
  | "data.not-found"
  /** The content of a file is malformed. */
  | "data.malformed"
  /** A split, slice or index does not exist in the taskset. */
  | "data.out-of-range"
  /** A row of training data has more tokens than the model can read. */
  | "data.too-long"
  /** A download failed, or the network cannot be reached. */
  | "data.unavailable"
  /** A model folder lacks a file, or a file lacks a tensor or a key. */
  | "model.missing"
  /** A weights file or model config is malformed. */
  | "model.malformed"
  /** The engine does not support the model's architecture or one of its options. */
  | "model.unsupported"
  /** An adapter is opened with another base model than the one it was trained on. */
  | "model.mismatch"
  /** The tokenizer has no chat template, or the template fails. */
  | "model.template"
  /** An environment broke its contract: it continued after its end, named an unknown agent, ... */
  | "environment.contract"
  /** An environment threw. */
  | "environment.failed"
  /** A policy does not support this input (a part type, tools). */
  | "policy.unsupported-input"
  /** A prompt leaves no room for a completion in the model's context. */
  | "policy.prompt-too-long"
  /** A policy threw, returned an invalid action, or has no action for this turn (a script, a recording). */
  | "policy.failed"
  /** An agent program failed: it threw, ended with an error, or could not be started. Its last output says why. */
  | "program.failed"
  /** The server of a policy requires an API key or rejects the given one. All requests would fail. */
  | "policy.unauthorized"
  /** The server of a policy rejects this request (its model, its settings, its content). A retry would not help. */
  | "policy.rejected"
  /** The server of a policy gave no valid answer, even after retries. */
  | "policy.unavailable"
  /** The limit on the requests to a judge model is reached. */
  | "policy.limit"
  /** The backend does not support a loss, a sampling setting, a device or another request. */
  | "backend.unsupported"
  /** The runtime of the backend failed. */
  | "backend.failed"
  /** The server of a backend cannot be reached, or it lost a model or a request. */
  | "backend.unavailable"
  /** A loss, gradient or weight is NaN or infinite. */
  | "backend.not-finite"
  /** The sampler and the trainer of a run disagree: it would not learn from what it samples. */
  | "preflight.failed"
  /** A checkpoint could not be written. The previous one is intact. */
  | "checkpoint.write-failed"
  /** A checkpoint is missing, incomplete, or belongs to another run. */
  | "checkpoint.unusable"
  /** A trace could not be written. The episodes written before are intact. */
  | "trace.write-failed"
  /** A report could not be written. The run's metrics are intact. */
  | "report.write-failed"
  /** A tracker, such as MLflow, rejects a request or does not answer. The training continues. */
  | "tracker.failed"
  /** A metric of an evaluation is below or above its required threshold. */
  | "evaluation.threshold"
  /** A sandbox cannot run this request: an unsupported language, a missing entry. */
  | "sandbox.request"
  /** The requirements of a sandbox are missing on this machine, or its workers do not start. */
  | "sandbox.unavailable"
  /** A sandbox was used after it was closed. */
  | "sandbox.closed"
  /** A server has no free session. A client waits and tries again. */
  | "server.capacity"
  /** A server is closed, or drains its sessions before it ends. A client reconnects to the next one. */
  | "server.closed"
  /** A request has no valid token. */
  | "server.unauthorized"
  /** A request to a server is malformed, too large, or comes at the wrong time. A retry would not help. */
  | "server.invalid-request"
  /** A session does not exist: it was closed, it expired, or its worker ended. */
  | "server.unknown-session"
  /** The server of a remote environment cannot be reached, or it lost the session. */
  | "environment.unavailable"
  /** The caller's signal aborted the operation. */
  | "aborted"
  /** An operation reached its time limit and was stopped. */
  | "timeout"
  /** A bug in Lyceum itself. */
  | "internal";

/** An error as plain data, for traces, rewards and messages between threads. */
export interface ErrorData {
  readonly name: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly data?: Json;
}

/** The options of a {@link LyceumError}. */
export interface LyceumErrorOptions {
  readonly code: ErrorCode;
  /** What failed and for what reason. */
  readonly message: string;
  /** What to do next. Shown after the message. */
  readonly hint?: string;
  /** Machine-readable details: a path, a line, a list of known names. */
  readonly data?: Json;
  readonly cause?: unknown;
}

/**
 * The error that Lyceum throws. `code` distinguishes the kinds of errors. Use `LyceumError.isInstance` instead of
 * `instanceof`, which fails if two copies of the package are loaded.
 *
 * @example
 * import { loadTaskset, LyceumError } from "lyceum";
 * const error = await loadTaskset({ source: "./no-such-file.jsonl" }).catch((thrown: unknown) => thrown);
 * LyceumError.isInstance(error) && error.code; // => "data.not-found"
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

  /** True if a value is a Lyceum error, from this copy of the package or another. */
  static isInstance(value: unknown): value is LyceumError {
    return typeof value === "object" && value !== null && brand in value;
  }

  /** Returns this error as plain data, without stack and cause. */
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
