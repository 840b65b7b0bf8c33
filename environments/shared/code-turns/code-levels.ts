import type { CodeError } from "../../../sandbox/execution.ts";
import type { CodeGrade } from "../../../sandbox/grading/grade-code.ts";

/** How far code came, level by level. */
export interface CodeLevels {
  /** It parses. */
  readonly syntax: boolean;
  /** It loads, and defines what was asked for. */
  readonly definition: boolean;
  /** Share of the hidden tests that pass, from 0 to 1. */
  readonly tests: number;
  /** Every test passes, visible ones too. */
  readonly passed: boolean;
  /** A hidden test raised. */
  readonly raised: boolean;
}

const syntaxErrors = new Set(["SyntaxError", "IndentationError", "TabError"]);

/** Whether an error says that code does not parse. */
export function isSyntaxError(error: CodeError | undefined): boolean {
  return syntaxErrors.has(error?.type ?? "");
}

/** The levels that a grade shows. Where every test is visible, they stand for the hidden ones. */
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
