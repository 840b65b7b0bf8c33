import type { TestSuite } from "../../../sandbox/grading/test-suite.ts";

/** A problem of a code benchmark. */
export interface CodeProblem {
  /** As the benchmark names it, such as `HumanEval/0`. */
  readonly id: string;
  /**
   * What is to be done: the beginning of the source that a solution completes, or, in MBPP, a sentence. A ClassEval
   * prompt is a class without its methods' bodies, to be written anew.
   */
  readonly prompt: string;
  /** The function or class that is tested. */
  readonly entryPoint: string;
  /** Every test, all of them hidden; `suite.language` is the solution's. */
  readonly suite: TestSuite;
  /** Whole source of the benchmark's own solution, where it has one. */
  readonly solution?: string;
}
