import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";
import { codeLevels } from "./code-levels.ts";
import type { CodeTurnOptions } from "./turn-options.ts";
import { sliceTests } from "./visible-tests.ts";

/** What feedback is made of, beside the options. */
export interface TurnReport {
  /** Undefined where the code was not run. */
  readonly grade: CodeGrade | undefined;
  /** What had to be defined, such as a function's name, and whether it is; `reason` says why it is not. */
  readonly definitions: readonly { readonly name: string; readonly found: boolean; readonly reason?: string }[];
  /** More that `level_feedback` says, a line each, such as how one agent uses the other's code. */
  readonly notes?: readonly string[];
  /** Lines of the program before the agent's own code: the lines of errors count from there. */
  readonly linesBefore?: number;
}

/**
 * What an agent reads after a turn that did not pass; empty where the mode says nothing. Nothing in it comes from a
 * hidden test, but that not every one passed.
 */
export function codeFeedback(
  { mode, sandboxSlice }: Pick<CodeTurnOptions, "mode" | "sandboxSlice">,
  report: TurnReport,
): string {
  const { grade, definitions, notes = [], linesBefore = 0 } = report;
  if (mode === "plain" || grade === undefined) return "";
  const levels = codeLevels(grade);
  const defined = levels.definition && definitions.every(({ found }) => found);
  const visible = grade.tests.filter((test) => test.visible);
  const shown = sliceTests(visible, sandboxSlice);
  const passing = shown.filter(({ passed }) => passed).length;
  if (mode === "passed") {
    const all = defined && passing === shown.length && shown.length > 0;
    return all ? "The visible tests passed, but not every test did." : "Not every level passed.";
  }
  const detailed = mode === "level_feedback";
  const { error } = grade.execution;
  const loading = grade.status === "load_error" && error !== undefined ? ` (${inWords(error, linesBefore)})` : "";
  const tests = shown.length === 0 ? [] : [`Visible tests: ${passing} of ${shown.length} passed.`];
  return [
    `Syntax: ${levels.syntax ? "ok" : `not ok${detailed ? loading : ""}`}`,
    ...definitions.map(({ name, found, reason }) => {
      if (found && levels.definition) return `Definition of ${name}: ok`;
      if (!detailed) return `Definition of ${name}: not ok`;
      const because = reason === undefined ? (levels.syntax ? loading : "") : ` (${reason})`;
      return `Definition of ${name}: not ok${because}`;
    }),
    ...tests,
    ...(detailed ? shown.flatMap((verdict) => (verdict.passed ? [] : [failure(verdict)])) : []),
    ...(detailed ? notes : []),
    ...(detailed && defined && passing === shown.length && shown.length < grade.tests.length
      ? ["Not every hidden test passed."]
      : []),
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
