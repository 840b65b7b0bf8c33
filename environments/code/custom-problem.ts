import { z } from "zod";
import type { Language } from "../../sandbox/execution.ts";
import { compileJavascriptTests } from "../../sandbox/grading/javascript/compile-javascript-tests.ts";
import { compilePythonAsserts } from "../../sandbox/grading/python/compile-python-tests.ts";
import { definedNames } from "../../sandbox/grading/python/python-names.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseRow } from "../shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { helpersOf } from "../shared/code-benchmarks/human-eval.ts";
import { refuseUngradable } from "../shared/code-benchmarks/refuse-ungradable.ts";

const schema = z.strictObject({
  /** `entryPoint` by default. */
  id: z.string().min(1).optional(),
  /** The task in words, or the beginning of the source code that a solution completes. */
  prompt: z.string().trim().min(1),
  entryPoint: z.string().regex(/^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u, "is not a valid function name"),
  /** In Python: asserts that call the function. In JavaScript and TypeScript: `assert.deepEqual(f(...), constant);`. */
  tests: z.array(z.string().trim().min(1)).min(1),
  /** The complete source code of a correct answer. */
  solution: z.string().min(1).optional(),
  language: z.enum(["python", "javascript", "typescript"]).optional(),
});

/**
 * Returns the problem of a row of a custom file. The fields are `prompt`, `entryPoint`, `tests` and, optionally, `id`,
 * `solution` and `language`. Throws `data.malformed` if a field is missing or unknown, a test is not an assert about
 * the function or cannot be graded, or the row's language is not the environment's language.
 */
export function customProblem(row: unknown, language: Language): CodeProblem {
  const problem = parseRow(schema, row, "your own problems");
  const { id = problem.entryPoint, prompt, entryPoint, tests, solution } = problem;
  if (problem.language !== undefined && problem.language !== language) {
    throw malformed(id, `is in ${problem.language}`, `Set the environment's language to ${problem.language}.`);
  }
  const suite = language === "python" ? pythonSuite(problem, id) : scriptSuite(entryPoint, tests, language);
  return { id, prompt, entryPoint, suite, ...(solution === undefined ? {} : { solution }) };
}

function pythonSuite(problem: z.infer<typeof schema>, id: string): TestSuite {
  const { prompt, entryPoint, tests, solution = "" } = problem;
  const defined = [entryPoint, ...definedNames(solution)];
  refuseUngradable(id, tests);
  const suite = compilePythonAsserts({ tests, setup: helpersOf(prompt, entryPoint), defined });
  const isTested = suite.kind === "calls" ? suite.function === entryPoint : suite.exports.includes(entryPoint);
  if (!isTested) {
    throw malformed(id, `has tests that never call ${entryPoint}`, `Write them as: assert ${entryPoint}(...) == ...`);
  }
  const silent = tests.find((test) => !/\bassert\b/.test(test));
  if (silent !== undefined) {
    throw malformed(id, `has a test without an assert: ${silent}`, "Add an assert: a test without one always passes.");
  }
  return suite;
}

function scriptSuite(entryPoint: string, tests: readonly string[], language: "javascript" | "typescript"): TestSuite {
  const own = `assert.deepEqual(${entryPoint}(`;
  const lines = tests.map((test) => {
    const line = test.startsWith(own) ? `assert.deepEqual(candidate(${test.slice(own.length)}` : test;
    return `  ${line.endsWith(";") ? line : `${line};`}`;
  });
  const test = `const assert = require('node:assert');\nfunction test() {\n  let candidate = ${entryPoint};\n${lines.join("\n")}\n}\ntest();`;
  return compileJavascriptTests({ test, language, entryPoint });
}

function malformed(id: string, problem: string, hint: string): LyceumError {
  return new LyceumError({ code: "data.malformed", message: `The problem "${id}" ${problem}.`, hint, data: { id } });
}
