import type { CapturedOutput, CodeError, ExecuteStatus, ExecuteTask } from "../execution.ts";
import type { Limits } from "../limits.ts";

/** What a child is asked to do. It answers with {@link FromChild} messages that carry the nonce, the last an `end`. */
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
  /** Run trusted tests; every question about the code is an `ask`. */
  | {
      readonly kind: "judge";
      readonly nonce: string;
      readonly setup: string;
      readonly tests: readonly string[];
      readonly exports: readonly string[];
      readonly limits: Limits;
      readonly seed: number;
    };

/** What a child that serves or judges is told while it does: a question, an answer, or that it is over. */
export type Relay = { readonly text: string } | { readonly finish: true };

/** What a child says. Texts that Python made are JSON, and as trustworthy as the code beside it. */
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
  /** Of Python's memory, which never shrinks. */
  readonly heapBytes: number;
  /** The child cannot run another job. */
  readonly spent: boolean;
}
