import { z } from "zod";
import { compilePythonAsserts, compilePythonCheck } from "../../sandbox/grading/python/compile-python-tests.ts";
import { calledNames, definedNames } from "../../sandbox/grading/python/python-names.ts";
import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";
import { LyceumError } from "../../src/errors/index.ts";
import { parseRow } from "./benchmark-row.ts";
import type { CodeProblem } from "./code-problem.ts";
import { helpersOf } from "./human-eval.ts";

const schema = z.object({
  task_id: z.number(),
  text: z.string(),
  code: z.string(),
  test_setup_code: z.string(),
  test_list: z.array(z.string()).min(1),
});

/** A problem from a row of MBPP (Austin et al. 2021, https://arxiv.org/abs/2108.07732). Throws `data.malformed`. */
export function mbppProblem(row: unknown): CodeProblem {
  const { task_id, text, code, test_setup_code, test_list } = parseRow(schema, row, "MBPP");
  const defined = definedNames(code);
  const suite = compilePythonAsserts({ tests: test_list, setup: test_setup_code, defined });
  const [entryPoint] = calledNames(test_list, defined);
  if (entryPoint === undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The tests of MBPP/${task_id} call no function.`,
      hint: "Compare the row with the published file.",
    });
  }
  return { id: `MBPP/${task_id}`, prompt: text, entryPoint, suite, solution: code };
}

const comlrlSchema = z.object({ task_id: z.string(), prompt: z.string(), entry_point: z.string(), test: z.string() });

/**
 * A problem from a row of the sanitized MBPP in HumanEval's form (CoMLRL). Some of its tests have the candidate's name
 * where `math.isclose` and `set` were; they are put right. Throws `data.malformed`.
 */
export function comlrlMbppProblem(row: unknown): CodeProblem {
  const { task_id, prompt, entry_point, test } = parseRow(comlrlSchema, row, "CoMLRL's MBPP");
  const helpers = helpersOf(prompt, entry_point);
  const suite = compilePythonCheck({ test: repaired(test), entryPoint: entry_point, helpers });
  return { id: task_id, prompt, entryPoint: entry_point, suite };
}

/** `math.candidate(` was `math.isclose(`; of `candidate(candidate(...)) == candidate(...)` the outer ones were `set`. */
function repaired(test: string): string {
  let text = "";
  let end = 0;
  for (const { tokens } of readLogicalLines(test) ?? []) {
    const words = tokens.map((token) => token.text);
    const isNested = words.slice(0, 5).join(" ") === "assert candidate ( candidate (";
    for (const [i, token] of tokens.entries()) {
      if (token.text !== "candidate") continue;
      const wasCloseness = words[i - 1] === "." && words[i - 2] === "math";
      const wasSet = isNested && (i === 1 || words[i - 1] === "==");
      if (!wasCloseness && !wasSet) continue;
      text += test.slice(end, token.start) + (wasCloseness ? "isclose" : "set");
      end = token.end;
    }
  }
  return text + test.slice(end);
}
