import type { CodeError } from "../../../sandbox/execution.ts";
import { type CodeGrade, type GradeOptions, gradeCode } from "../../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../../sandbox/grading/test-suite.ts";
import type { TestVerdict } from "../../../sandbox/grading/test-verdict.ts";
import { loadAlone } from "./load-alone.ts";

/** The results that feedback may quote. They come from an execution that sees only the visible tests. */
export interface VisibleRun {
  /** The verdicts of the visible tests. */
  readonly verdicts: readonly TestVerdict[];
  /** The load error of the code, if any. */
  readonly loadError?: CodeError;
}

/**
 * Runs code with only the visible tests. Code that sees a hidden test can put it into its return values, errors and
 * load errors, so feedback quotes this run and never the graded run. `name` is the function or class that the code must
 * define. Resolves with undefined if the sandbox failed. Rejects with the errors of `gradeCode`.
 */
export async function visibleRun(
  options: GradeOptions & { readonly grade: CodeGrade; readonly name: string },
): Promise<VisibleRun | undefined> {
  const { grade, name, ...rest } = options;
  const { suite } = rest;
  const tests = suite.tests.filter(({ visible }) => visible === true);
  if (tests.length === suite.tests.length) return runOf(grade);
  if (tests.length === 0) return await loadRun(rest, name);
  const alone = await gradeCode({ ...rest, suite: { ...suite, tests } as TestSuite });
  return alone.infra ? undefined : runOf(alone);
}

function runOf({ status, tests, execution }: CodeGrade): VisibleRun {
  const { error } = execution;
  return { verdicts: tests, ...(status === "load_error" && error !== undefined ? { loadError: error } : {}) };
}

async function loadRun({ code, suite, ...rest }: GradeOptions, name: string): Promise<VisibleRun> {
  const { language, limits, kind } = suite;
  // A program cannot be loaded without running it.
  if (kind === "program") return { verdicts: [] };
  const { seed = 0, ...others } = rest;
  const alone = await loadAlone({ ...others, language, source: code, name, seed, limits });
  return { verdicts: [], ...(alone?.loads === false ? { loadError: alone.error } : {}) };
}
