import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";
import { codeLevels } from "./code-levels.ts";
import type { CodeTurnOptions } from "./turn-options.ts";
import { sliceTests } from "./visible-tests.ts";

/** What feedback is made of, beside the options. */
export interface TurnReport {
  /** Of every test. */
  readonly grade: CodeGrade;
  /** Verdicts on the visible tests, from an execution that saw no other; undefined where they could not be run. */
  readonly visible: readonly TestVerdict[] | undefined;
  /** Why the agent's own code does not parse; absent, the grade says it. `null`: it does. */
  readonly syntaxProblem?: string | null;
  /** What had to be defined, such as a function's name, and whether it is. */
  readonly definitions: readonly { readonly name: string; readonly found: boolean }[];
  /** What else is judged, such as how one agent uses the other's code; `detail` says what was found. */
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
  /** Lines of the program before the agent's own code: the lines of errors count from there. */
  readonly linesBefore?: number;
}

/**
 * What an agent reads after a turn that did not reach the top, in the modes that run its code. Nothing in it comes from
 * a hidden test, but that not every one passed.
 */
export function codeFeedback(
  { mode, sandboxSlice }: Pick<CodeTurnOptions, "mode" | "sandboxSlice">,
  report: TurnReport,
): string {
  const { grade, syntaxProblem, definitions, checks = [], linesBefore = 0 } = report;
  const levels = codeLevels(grade);
  const { error } = grade.execution;
  const loading = grade.status === "load_error" && error !== undefined ? inWords(error, linesBefore) : undefined;
  const problem = syntaxProblem === undefined ? (levels.syntax ? null : (loading ?? "")) : syntaxProblem;
  const defined = levels.definition && definitions.every(({ found }) => found);
  const shown = sliceTests(report.visible ?? [], sandboxSlice);
  const passing = shown.filter(({ passed }) => passed).length;
  const hidesFailure = !grade.passed && defined && passing === shown.length;
  if (mode === "passed") {
    if (grade.passed && defined) return "Every test passed.";
    return hidesFailure && shown.length > 0
      ? "The visible tests passed, but not every test did."
      : "Not every level passed.";
  }
  const detailed = mode === "level_feedback";
  const because = (reason: string | null | undefined): string => (detailed && reason ? ` (${reason})` : "");
  const missing = levels.syntax && problem === null ? because(loading) : "";
  return [
    `Syntax: ${problem === null ? "ok" : `not ok${because(problem)}`}`,
    ...definitions.map(
      ({ name, found }) => `Definition of ${name}: ${found && levels.definition ? "ok" : `not ok${missing}`}`,
    ),
    ...(shown.length === 0 ? [] : [`Visible tests: ${passing} of ${shown.length} passed.`]),
    ...(detailed ? shown.flatMap((verdict) => (verdict.passed ? [] : [failure(verdict)])) : []),
    ...checks.map(({ name, ok, detail }) => (detailed ? detail : `${name}: ${ok ? "ok" : "not ok"}`)),
    ...(detailed && hidesFailure ? ["Not every hidden test passed."] : []),
  ].join("\n");
}

function failure({ called, got, expected, error, outcome }: TestVerdict): string {
  if (error !== undefined) return `Failed: ${called} raised ${error.type}: ${error.message}`;
  if (got === undefined) return `Failed: ${called} (${outcome})`;
  return `Failed: ${called} gave ${got}${expected === undefined ? "" : `, expected ${expected}`}`;
}

function inWords(
  { type, message, line }: { readonly type: string; readonly message: string; readonly line?: number },
  linesBefore: number,
): string {
  const place = line === undefined || line <= linesBefore ? "" : `, line ${line - linesBefore}`;
  return `${type}: ${message}${place}`;
}
