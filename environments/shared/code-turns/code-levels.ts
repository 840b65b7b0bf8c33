import type { CodeError } from "../../../sandbox/execution.ts";
import type { CodeGrade } from "../../../sandbox/grading/grade-code.ts";

/** The levels that code reached. */
export interface CodeLevels {
  /** True if the code parses. */
  readonly syntax: boolean;
  /** True if the code loads and contains the required definitions. */
  readonly definition: boolean;
  /** The share of hidden tests that pass, from 0 to 1. */
  readonly tests: number;
  /** True if every test passes, including the visible ones. */
  readonly passed: boolean;
  /** True if a hidden test raised an error. */
  readonly raised: boolean;
}

const syntaxErrors = new Set(["SyntaxError", "IndentationError", "TabError"]);

/** Returns true for a syntax error. */
export function isSyntaxError(error: CodeError | undefined): boolean {
  return syntaxErrors.has(error?.type ?? "");
}

/** Returns the levels of a grade. If all tests are visible, they replace the hidden ones. */
export function codeLevels(grade: CodeGrade): CodeLevels {
  const hidden = grade.tests.filter(({ visible }) => !visible);
  const counted = hidden.length === 0 ? grade.tests : hidden;
  const loaded = grade.status !== "load_error";
  return {
    syntax: loaded || !isSyntaxError(grade.execution.error),
    definition: loaded,
    tests: counted.length === 0 ? 0 : counted.filter(({ passed }) => passed).length / counted.length,
    passed: grade.passed,
    raised: counted.some(({ outcome }) => outcome !== "passed" && outcome !== "wrong"),
  };
}
