import type { CodeError } from "../../../sandbox/execution.ts";
import type { TestVerdict } from "../../../sandbox/grading/test-verdict.ts";
import { isSyntaxError } from "./code-levels.ts";
import type { CodeTurnOptions } from "./turn-options.ts";
import type { VisibleRun } from "./visible-run.ts";
import { sliceTests } from "./visible-tests.ts";

/** The inputs of feedback, in addition to the options. */
export interface TurnReport {
  /** True if every test passed, including the hidden ones. */
  readonly passed: boolean;
  /** Undefined if the visible tests could not be run. */
  readonly visible: VisibleRun | undefined;
  /** The reason why the agent's own code does not parse, or `null` if it parses. */
  readonly syntaxProblem: string | null;
  /**
   * The required definitions, such as a function's name, whether each was found, and the reason if not and the agent
   * may see it.
   */
  readonly definitions: readonly { readonly name: string; readonly found: boolean; readonly problem?: string }[];
  /** The reason why the joint program does not load, if this agent's own code is not the cause. */
  readonly programProblem?: string | undefined;
  /** Further checks, such as how one agent uses the other's code. `detail` describes the finding. */
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

/**
 * Returns an agent's feedback after a turn below the maximum, in the modes that run its code. The feedback contains
 * nothing from a hidden test, except that not all of them passed.
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
  // If the program does not load, no test runs, and the feedback already gives the reason.
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

/** Formats an error of the code. Its line is relative to the agent's own code. */
export function errorText({ type, message, line }: CodeError, linesBefore: number): string {
  const place = line === undefined || line <= linesBefore ? "" : `, line ${line - linesBefore}`;
  // Python's message of a syntax error contains a line of the joint program.
  return `${type}: ${message.replace(/ \(solution\.py, line \d+\)$/, "")}${place}`;
}

/** Returns the report on the program of a single agent that must define `name`. */
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
