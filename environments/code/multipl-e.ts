import { z } from "zod";
import { compileJavascriptTests } from "../../sandbox/grading/javascript/compile-javascript-tests.ts";
import { parseRow } from "../shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";

const schema = z.object({
  name: z.string().regex(/^HumanEval_\d+_\w+$/),
  language: z.enum(["js", "ts"]),
  prompt: z.string(),
  tests: z.string(),
});

/**
 * Returns the problem of a row of MultiPL-E's HumanEval in JavaScript or TypeScript (Cassano et al. 2022,
 * https://arxiv.org/abs/2208.08227). Throws `data.malformed`.
 */
export function multiplEProblem(row: unknown): CodeProblem {
  const { name, language, prompt, tests } = parseRow(schema, row, "MultiPL-E");
  const entryPoint = name.replace(/^HumanEval_\d+_/, "");
  const suite = compileJavascriptTests({
    test: tests,
    language: language === "js" ? "javascript" : "typescript",
    entryPoint,
  });
  return { id: name, prompt, entryPoint, suite };
}
