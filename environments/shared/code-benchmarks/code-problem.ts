import type { TestSuite } from "../../../sandbox/grading/test-suite.ts";

/** A problem of a code benchmark. */
export interface CodeProblem {
  /** The benchmark's name of the problem, such as `HumanEval/0`. */
  readonly id: string;
  /**
   * The task: the beginning of the source code that a solution completes, or, in MBPP, a sentence. A ClassEval prompt
   * is a class without method bodies. A solution writes the complete class.
   */
  readonly prompt: string;
  /** The function or class that is tested. */
  readonly entryPoint: string;
  /** All tests, all hidden. `suite.language` is the language of the solution. */
  readonly suite: TestSuite;
  /** The complete source code of the benchmark's own solution, if it has one. */
  readonly solution?: string;
}
