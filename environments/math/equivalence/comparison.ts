/** A question to the worker: is any of these answers equivalent to any of these right answers? */
export interface Comparison {
  readonly answers: readonly string[];
  readonly golds: readonly string[];
  /** The question, and every form of the right answer. An answer that is copied from the question does not count. */
  readonly asked?: { readonly question: string; readonly golds: readonly string[] };
}

/** The outcome of a question: a decision, `exhausted` (out of time or memory), or why the worker died. */
export type ComparisonOutcome =
  | { readonly type: "decided"; readonly equal: boolean }
  | { readonly type: "exhausted" }
  | { readonly type: "died"; readonly cause: string };
