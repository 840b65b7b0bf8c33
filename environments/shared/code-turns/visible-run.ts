import type { CodeError } from "../../../sandbox/execution.ts";
import { type CodeGrade, type GradeOptions, gradeCode } from "../../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../../sandbox/grading/test-suite.ts";
import type { TestVerdict } from "../../../sandbox/grading/test-verdict.ts";
import { loadAlone } from "./load-alone.ts";

/** What feedback may quote: all of it comes from an execution that sees the visible tests and no other. */
export interface VisibleRun {
  /** On the visible tests. */
  readonly verdicts: readonly TestVerdict[];
  /** Why the code does not load, if it does not. */
  readonly loadError?: CodeError;
}

/**
 * Runs code with the visible tests alone. Code that sees a hidden test can put it into what it returns, what it raises
 * and why it does not load, so feedback quotes this run and never the one that is graded. `name` is the function or
 * class that the code has to define. Resolves with undefined if the sandbox failed. Rejects as `gradeCode` does.
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
  // A program is not loaded apart from a run of it.
  if (kind === "program") return { verdicts: [] };
  const { seed = 0, ...others } = rest;
  const alone = await loadAlone({
    ...{ ...others, language, source: code, name, seed },
    ...(limits === undefined ? {} : { limits }),
  });
  return { verdicts: [], ...(alone?.loads === false ? { loadError: alone.error } : {}) };
}
