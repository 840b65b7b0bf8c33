import { type CodeGrade, type GradeOptions, gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";

/**
 * The verdicts on the visible tests, from an execution that sees no other test: code that notes down what it is called
 * with cannot show a hidden test in what it returns. Undefined where the sandbox failed; empty where no test is visible
 * or `grade` (of every test) shows that the code does not load.
 */
export async function visibleVerdicts(
  options: GradeOptions & { readonly grade: CodeGrade },
): Promise<readonly TestVerdict[] | undefined> {
  const { grade, suite, ...rest } = options;
  const tests = suite.tests.filter(({ visible }) => visible === true);
  if (tests.length === 0) return [];
  if (tests.length === suite.tests.length || grade.status === "load_error") {
    return grade.tests.filter(({ visible }) => visible);
  }
  const alone = await gradeCode({ ...rest, suite: { ...suite, tests } as TestSuite });
  return alone.infra ? undefined : alone.tests;
}
