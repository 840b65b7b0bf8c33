import type { Limits } from "./limits.ts";
import type { PlainValue } from "./plain-value.ts";

/** Languages that code is written in. */
export type Language = "python" | "javascript" | "typescript";

/** Code to run, and what to do with it. */
export interface ExecuteRequest {
  /** Returned with the result; a number of the sandbox's own by default. */
  readonly id?: string;
  readonly language: Language;
  /** File contents by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** The file that is run. */
  readonly entry: string;
  readonly task: ExecuteTask;
  readonly limits?: Partial<Limits>;
  /** Seeds what is random in the sandbox: the same request gives the same result. 0 by default. */
  readonly seed?: number;
  /** Ends the execution, and only it, with status `aborted`. */
  readonly signal?: AbortSignal;
}

/** What to do with the code. */
export type ExecuteTask =
  /** Load the entry, then call one of its functions for each case. */
  | {
      readonly kind: "calls";
      /** The function's name; `Class.method` makes an instance without arguments and calls its method. */
      readonly function: string;
      readonly cases: readonly CallCase[];
      /** `job`: all cases in one process, after one another (default); `case`: each in a fresh one. */
      readonly isolate?: "job" | "case";
    }
  /** Run the entry as a program, once per input, and keep what it prints. */
  | { readonly kind: "program"; readonly stdin: readonly string[] }
  /**
   * Run trusted tests in a process apart, which sees of the code only stand-ins for `exports`. One case per test:
   * `returned` where it ran to its end, `raised` where it did not (an assertion, or what the code raised).
   */
  | {
      readonly kind: "judge";
      /** Trusted code that is run before the tests: helpers, imports. The exports are bound before it, and again after. */
      readonly setup?: string;
      /** Trusted pieces of code, run in order in one namespace. */
      readonly tests: readonly string[];
      /** Functions and classes of the entry that the tests use. */
      readonly exports: readonly string[];
    }
  /**
   * Run the entry, tests and all, in one process: for an agent's own experiments, never for a reward, because code can
   * feign its end. `integrity` spells that out.
   */
  | { readonly kind: "script"; readonly integrity: "inline"; readonly stdin?: string };

/** Arguments of one call. */
export interface CallCase {
  readonly args: readonly PlainValue[];
  readonly kwargs?: Readonly<Record<string, PlainValue>>;
}

/**
 * How an execution ended.
 *
 * - `ok`: the code was loaded and every case was run; cases may have raised.
 * - `load_error`: the code does not parse, or raised while it was loaded, or lacks the function.
 * - `timeout_cpu`, `timeout_wall`, `memory`, `output_limit`, `result_limit`: a limit was reached.
 * - `exited`, `signal`: the process ended by itself or by a signal before its cases were done.
 * - `violation`: what came back broke the protocol, or the code ended its worker, twice, while other code did not.
 * - `aborted`: by the request's signal.
 * - `infra_error`: the sandbox failed, and a canary job fails too, or no worker starts; nothing is known of the code.
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

/** What was observed. Nothing in it says whether the code is right. */
export interface ExecuteResult {
  readonly id: string;
  readonly status: ExecuteStatus;
  /** One entry per case of the task, in order; those that were not reached are `missing`. */
  readonly cases: readonly CaseObservation[];
  /** What loading raised, or what ended the execution, in words. */
  readonly error?: CodeError;
  /** Of `calls` and `judge`; a `program` has its output in its cases. */
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly exit: { readonly code: number | null; readonly signal: string | null };
  readonly usage: Usage;
  readonly worker: { readonly id: string; readonly generation: number; readonly jobs: number };
  /** 1, or 2 if the first attempt may have ended by no doing of the code: see {@link ExecuteStatus}. */
  readonly attempts: number;
  readonly integrity: {
    /** Every message carried the job's nonce. */
    readonly nonceOk: boolean;
    /** What was noticed that honest code does not do, such as `left-processes`: for audit, not for rewards. */
    readonly flags: readonly string[];
  };
}

/** What one case did. */
export interface CaseObservation {
  readonly index: number;
  /** `unsupported`: it returned something that is no {@link PlainValue}. */
  readonly outcome: "returned" | "raised" | "unsupported" | "missing";
  /** What was returned; of a `program`, what it printed, as a string. */
  readonly value?: PlainValue;
  /** The arguments after the call, where the code changed them. */
  readonly changedArgs?: readonly PlainValue[];
  readonly error?: CodeError;
  readonly cpuMs: number;
}

/** An error of the code. */
export interface CodeError {
  /** The name of its class. */
  readonly type: string;
  readonly message: string;
  /** Line of the entry, from 1. */
  readonly line?: number;
}

/** Output, cut to the limit. */
export interface CapturedOutput {
  readonly text: string;
  /** Bytes that were written. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/** What an execution took. */
export interface Usage {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Waiting for a worker. */
  readonly queueMs: number;
  /** 0 where it is not known. */
  readonly peakRssKb: number;
  /** Processes that were left and were killed. */
  readonly swept: number;
}
