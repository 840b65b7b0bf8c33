import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { CodeOptions } from "./code-options.ts";

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

/** The levels that a grade shows. Where every test is visible, they stand for the hidden ones. */
export function codeLevels(grade: CodeGrade): CodeLevels {
  const hidden = grade.tests.filter(({ visible }) => !visible);
  const counted = hidden.length === 0 ? grade.tests : hidden;
  const loaded = grade.status !== "load_error";
  return {
    syntax: loaded || !syntaxErrors.has(grade.execution.error?.type ?? ""),
    definition: loaded,
    tests: counted.length === 0 ? 0 : counted.filter(({ passed }) => passed).length / counted.length,
    passed: grade.passed,
    raised: counted.some(({ outcome }) => outcome !== "passed" && outcome !== "wrong"),
  };
}

/** The least and greatest reward of a preset. */
export const rewardRanges: Readonly<Record<CodeOptions["reward"], readonly [number, number]>> = {
  correctness: [0, 1],
  mrlm: [-0.5, 2],
};

/** What the levels are worth, by name; their sum is the reward. */
export function rewardComponents(preset: CodeOptions["reward"], levels: CodeLevels): Record<string, number> {
  const { syntax, definition, tests, passed, raised } = levels;
  if (preset === "mrlm") return { tests, bonus: passed ? 1 : 0, error: raised ? -0.5 : 0 };
  return { syntax: syntax ? 0.05 : 0, definition: definition ? 0.05 : 0, tests: 0.9 * tests };
}
