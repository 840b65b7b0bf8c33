import type { CodeError } from "../../../sandbox/execution.ts";
import type { TestVerdict } from "../../../sandbox/grading/test-verdict.ts";
import { isSyntaxError } from "./code-levels.ts";
import type { CodeTurnOptions } from "./turn-options.ts";
import type { VisibleRun } from "./visible-run.ts";
import { sliceTests } from "./visible-tests.ts";

/** What feedback is made of, beside the options. */
export interface TurnReport {
  /** Whether every test passed, the hidden ones too. */
  readonly passed: boolean;
  /** Undefined if the visible tests could not be run. */
  readonly visible: VisibleRun | undefined;
  /** Why the agent's own code does not parse; `null`: it does. */
  readonly syntaxProblem: string | null;
  /** What had to be defined, such as a function's name, whether it is, and why it is not if the agent may read that. */
  readonly definitions: readonly { readonly name: string; readonly found: boolean; readonly problem?: string }[];
  /** Why the program of all agents does not load, if that is not the fault of this agent's own code. */
  readonly programProblem?: string | undefined;
  /** What else is judged, such as how one agent uses the other's code; `detail` says what was found. */
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

/**
 * What an agent reads after a turn that did not reach the top, in the modes that run its code. Nothing in it comes from
 * a hidden test, but that not every one passed.
 */
export function codeFeedback(
  { mode, sandboxSlice }: Pick<CodeTurnOptions, "mode" | "sandboxSlice">,
  report: TurnReport,
): string {
  const { visible, syntaxProblem, definitions, programProblem, checks = [] } = report;
  const loads = visible?.loadError === undefined;
  const defined = loads && definitions.every(({ found }) => found);
  const shown = sliceTests(visible?.verdicts ?? [], sandboxSlice);
  const passing = shown.filter(({ passed }) => passed).length;
  const hidesFailure = !report.passed && defined && passing === shown.length;
  if (mode === "passed") {
    if (report.passed && defined) return "Every test passed.";
    return hidesFailure && shown.length > 0
      ? "The visible tests passed, but not every test did."
      : "Not every level passed.";
  }
  const detailed = mode === "level_feedback";
  const because = (reason: string | undefined): string => (detailed && reason ? ` (${reason})` : "");
  // Without a program that loads no test is run, and the reason is said above.
  const failures = loads ? shown.filter(({ passed }) => !passed) : [];
  return [
    `Syntax: ${syntaxProblem === null ? "ok" : `not ok${because(syntaxProblem)}`}`,
    ...definitions.map(
      ({ name, found, problem }) => `Definition of ${name}: ${found ? "ok" : `not ok${because(problem)}`}`,
    ),
    ...(programProblem === undefined ? [] : [detailed ? programProblem : "Whole program: not ok"]),
    ...(shown.length === 0 ? [] : [`Visible tests: ${passing} of ${shown.length} passed.`]),
    ...(detailed ? failures.map(failure) : []),
    ...checks.map(({ name, ok, detail }) => (detailed ? detail : `${name}: ${ok ? "ok" : "not ok"}`)),
    ...(detailed && hidesFailure ? ["Not every hidden test passed."] : []),
  ].join("\n");
}

function failure({ called, got, expected, error, outcome }: TestVerdict): string {
  if (error !== undefined) return `Failed: ${called} raised ${error.type}: ${error.message}`;
  if (got === undefined) return `Failed: ${called} (${outcome})`;
  return `Failed: ${called} gave ${got}${expected === undefined ? "" : `, expected ${expected}`}`;
}

/** An error of the code in words, with its line counted from the agent's own code. */
export function errorText({ type, message, line }: CodeError, linesBefore: number): string {
  const place = line === undefined || line <= linesBefore ? "" : `, line ${line - linesBefore}`;
  // Python's message of a syntax error names a line of the whole program.
  return `${type}: ${message.replace(/ \(solution\.py, line \d+\)$/, "")}${place}`;
}

/** What a run says of the program of one agent that has to define `name`. */
export function singleReport(
  visible: VisibleRun | undefined,
  { name, linesBefore }: { readonly name: string; readonly linesBefore: number },
): Pick<TurnReport, "syntaxProblem" | "definitions"> {
  const error = visible?.loadError;
  const problem = error === undefined ? "" : errorText(error, linesBefore);
  const parses = !isSyntaxError(error);
  return {
    syntaxProblem: parses ? null : problem,
    definitions: [{ name, found: error === undefined, ...(parses && problem !== "" ? { problem } : {}) }],
  };
}
