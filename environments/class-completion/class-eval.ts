import { z } from "zod";
import { readPythonStatements } from "../../sandbox/grading/python/python-statements.ts";
import type { JudgeSuite } from "../../sandbox/grading/test-suite.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseRow } from "../shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";

const schema = z.object({
  task_id: z.string(),
  skeleton: z.string(),
  test: z.string(),
  solution_code: z.string(),
  import_statement: z.array(z.string()),
  class_name: z.string(),
});

/**
 * Returns the problem of a row of ClassEval (Du et al. 2023, https://arxiv.org/abs/2308.01861): a class with one test
 * per method of its `unittest` classes. Throws `data.malformed`.
 */
export function classEvalProblem(row: unknown): CodeProblem {
  const { task_id, skeleton, test, solution_code, import_statement, class_name } = parseRow(schema, row, "ClassEval");
  const methods = testMethods(test);
  if (methods.length === 0) {
    throw new LyceumError({
      code: "data.malformed",
      message: `${task_id} has no test methods.`,
      hint: "Compare the row with the published file.",
    });
  }
  const suite: JudgeSuite = {
    kind: "judge",
    language: "python",
    // The tests use what the solution imports.
    setup: [...import_statement, test, runTest].join("\n"),
    exports: [class_name],
    tests: methods.map(({ owner, name }) => ({ code: `_run_test(${owner}, "${name}")` })),
  };
  return { id: task_id, prompt: skeleton, entryPoint: class_name, suite, solution: solution_code };
}

const runTest = `
def _run_test(case, name):
    import unittest
    result = unittest.TestResult()
    unittest.TestSuite([case(name)]).run(result)
    for _, trace in result.failures + result.errors:
        raise AssertionError(trace.strip().splitlines()[-1])
`;

/** Returns the test methods of each class, in order. If two methods have the same name, Python keeps one. */
function testMethods(test: string): readonly { readonly owner: string; readonly name: string }[] {
  const classes = (readPythonStatements(test) ?? []).filter(({ tokens }) => tokens[0]!.text === "class");
  return classes.flatMap(({ tokens, body }) => {
    const names = body.flatMap(({ allTokens }) => {
      const name = allTokens[allTokens.findIndex(({ text }) => text === "def") + 1]?.text ?? "";
      return name.startsWith("test") ? [name] : [];
    });
    return [...new Set(names)].map((name) => ({ owner: tokens[1]!.text, name }));
  });
}
