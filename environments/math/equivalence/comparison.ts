/** A question to the worker: whether any of these answers says the same as any of these golds. */
export interface Comparison {
  readonly answers: readonly string[];
  readonly golds: readonly string[];
  /** What was asked, and every form of the right answer; an answer that is copied from it does not count. */
  readonly asked?: { readonly question: string; readonly golds: readonly string[] };
}

/** What became of a question: an answer, `exhausted` (out of time or memory), or why the worker died. */
export type ComparisonOutcome =
  | { readonly type: "decided"; readonly equal: boolean }
  | { readonly type: "exhausted" }
  | { readonly type: "died"; readonly cause: string };
