import type { Limits } from "./limits.ts";
import type { PlainValue } from "./plain-value.ts";

/** The programming languages of a sandbox. */
export type Language = "python" | "javascript" | "typescript";

/** A request to run code. */
export interface ExecuteRequest {
  /** An id that the result repeats. The sandbox chooses a number by default. */
  readonly id?: string;
  readonly language: Language;
  /** The contents of files by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** The path of the file that is run. */
  readonly entry: string;
  readonly task: ExecuteTask;
  readonly limits?: Partial<Limits>;
  /** The random seed of the sandbox. The same request gives the same result. 0 by default. */
  readonly seed?: number;
  /** Ends this execution only, with status `aborted`. */
  readonly signal?: AbortSignal;
}

/** The work to do with the code. */
export type ExecuteTask =
  /** Loads the entry, then calls one of its functions for each case. */
  | {
      readonly kind: "calls";
      /** The function's name. `Class.method` creates an instance without arguments and calls its method. */
      readonly function: string;
      readonly cases: readonly CallCase[];
      /** `job` (default): runs all cases in one process, in order. `case`: runs each case in a fresh process. */
      readonly isolate?: "job" | "case";
    }
  /** Runs the entry as a program once per input, and returns its output. */
  | { readonly kind: "program"; readonly stdin: readonly string[] }
  /**
   * Runs trusted tests in a separate process, which sees only stand-ins for the `exports` of the code. Each test is one
   * case: `returned` if it ran to its end, `raised` if an assertion failed or the code raised an error.
   */
  | {
      readonly kind: "judge";
      /**
       * Trusted code that runs before the tests, such as helpers and imports. The exports are bound before it and again
       * after it.
       */
      readonly setup?: string;
      /** Trusted pieces of code. They run in order in one namespace. */
      readonly tests: readonly string[];
      /** The functions and classes of the entry that the tests use. */
      readonly exports: readonly string[];
    }
  /**
   * Runs the entry, including its tests, in one process. Use it for an agent's own experiments, never for a reward,
   * because the code can fake success. `integrity` makes this explicit.
   */
  | { readonly kind: "script"; readonly integrity: "inline"; readonly stdin?: string };

/** The arguments of one call. */
export interface CallCase {
  readonly args: readonly PlainValue[];
  readonly kwargs?: Readonly<Record<string, PlainValue>>;
}

/**
 * The status of an ended execution.
 *
 * - `ok`: the code was loaded and every case was run. Cases may have raised errors.
 * - `load_error`: the code has a syntax error, raised an error while loading, or lacks the function.
 * - `timeout_cpu`, `timeout_wall`, `memory`, `output_limit`, `result_limit`: a limit was reached.
 * - `exited`, `signal`: the process ended by itself or by a signal before its cases were done.
 * - `violation`: the results broke the protocol, or the code ended its workers while canary jobs succeeded.
 * - `aborted`: the request's signal aborted.
 * - `infra_error`: the sandbox failed and a canary job failed too, the machine ended every attempt, or no worker starts.
 *   Nothing is known about the code.
 */
export type ExecuteStatus =
  | "ok"
  | "load_error"
  | "timeout_cpu"
  | "timeout_wall"
  | "memory"
  | "output_limit"
  | "result_limit"
  | "exited"
  | "signal"
  | "violation"
  | "aborted"
  | "infra_error";

/** The observations of one execution. They do not say if the code is correct. */
export interface ExecuteResult {
  readonly id: string;
  readonly status: ExecuteStatus;
  /** One entry per case of the task, in order. Cases that were not reached are `missing`. */
  readonly cases: readonly CaseObservation[];
  /** The error that loading raised, or a description of what ended the execution. */
  readonly error?: CodeError;
  /** The output of `calls` and `judge` tasks. A `program` has its output in its cases. */
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly exit: { readonly code: number | null; readonly signal: string | null };
  readonly usage: Usage;
  readonly worker: { readonly id: string; readonly generation: number; readonly jobs: number };
  /** 1, or up to 3 if the infrastructure may have ended the earlier attempts: see {@link ExecuteStatus}. */
  readonly attempts: number;
  readonly integrity: {
    /** True if every message contained the job's nonce. */
    readonly nonceOk: boolean;
    /** Signs of dishonest code, such as `left-processes`. For audit, not for rewards. */
    readonly flags: readonly string[];
  };
}

/** The observation of one case. */
export interface CaseObservation {
  readonly index: number;
  /** `unsupported`: the returned value is no {@link PlainValue}. */
  readonly outcome: "returned" | "raised" | "unsupported" | "missing";
  /** The returned value. For a `program`, its output as a string. */
  readonly value?: PlainValue;
  /** The arguments after the call, if the code changed them. */
  readonly changedArgs?: readonly PlainValue[];
  readonly error?: CodeError;
  readonly cpuMs: number;
}

/** An error of the code. */
export interface CodeError {
  /** The name of the error's class. */
  readonly type: string;
  readonly message: string;
  /** The line of the entry, counted from 1. */
  readonly line?: number;
}

/** Output, truncated to the limit. */
export interface CapturedOutput {
  readonly text: string;
  /** The number of bytes that were written. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/** The resources that an execution used. */
export interface Usage {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** The time that the job waited for a worker. */
  readonly queueMs: number;
  /** 0 if it is unknown. */
  readonly peakRssKb: number;
  /** The number of leftover processes that were killed. */
  readonly swept: number;
}
