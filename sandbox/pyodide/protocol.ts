import type { CapturedOutput, CodeError, ExecuteStatus, ExecuteTask } from "../execution.ts";
import type { Limits } from "../limits.ts";

/**
 * The requests to a child. It answers with {@link FromChild} messages that contain the nonce. The last one is `end`.
 */
export type ToChild =
  | {
      readonly kind: "run";
      readonly nonce: string;
      readonly files: Readonly<Record<string, string>>;
      readonly entry: string;
      readonly task: Exclude<ExecuteTask, { kind: "judge" }>;
      readonly limits: Limits;
      readonly seed: number;
    }
  /** Load the code and answer the questions of a judge until `finish`. */
  | {
      readonly kind: "serve";
      readonly nonce: string;
      readonly files: Readonly<Record<string, string>>;
      readonly entry: string;
      readonly exports: readonly string[];
      readonly limits: Limits;
      readonly seed: number;
    }
  /** Run trusted tests. Every question about the code is an `ask`. */
  | {
      readonly kind: "judge";
      readonly nonce: string;
      readonly setup: string;
      readonly tests: readonly string[];
      readonly exports: readonly string[];
      readonly limits: Limits;
      readonly seed: number;
    };

/** The messages to a child that serves or judges: a question, an answer, or `finish`. */
export type Relay = { readonly text: string } | { readonly finish: true };

/** The messages of a child. Texts that Python made are JSON, and as untrusted as the code next to it. */
export type FromChild =
  | { readonly kind: "ready" }
  | {
      readonly kind: "case";
      readonly nonce: string;
      readonly index: number;
      readonly text: string;
      readonly cpuMs: number;
    }
  /** The code is loaded and has the exports. */
  | { readonly kind: "loaded"; readonly nonce: string }
  | { readonly kind: "ask"; readonly nonce: string; readonly text: string }
  | { readonly kind: "answer"; readonly nonce: string; readonly text: string }
  | JobEnd;

/** How a job ended in a child. */
export interface JobEnd {
  readonly kind: "end";
  readonly nonce: string;
  readonly status: ExecuteStatus;
  readonly error?: CodeError;
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly exit: { readonly code: number | null; readonly signal: string | null };
  readonly cpuMs: number;
  /** The size of Python's memory, which never shrinks. */
  readonly heapBytes: number;
  /** True if the child cannot run another job. */
  readonly spent: boolean;
}
