import { z } from "zod";
import { compilePythonCheck } from "../../../sandbox/grading/python/compile-python-tests.ts";
import { readLogicalLines } from "../../../sandbox/grading/python/python-tokens.ts";
import { parseRow } from "./benchmark-row.ts";
import type { CodeProblem } from "./code-problem.ts";
import { refuseUngradable } from "./refuse-ungradable.ts";

const schema = z.object({
  task_id: z.string(),
  prompt: z.string(),
  entry_point: z.string(),
  test: z.string(),
  canonical_solution: z.string().optional(),
});

/**
 * Returns the problem of a row of HumanEval (Chen et al. 2021, https://arxiv.org/abs/2107.03374) or of a data set with
 * the same fields, such as CoopHumanEval. Throws `data.malformed`.
 */
export function humanEvalProblem(row: unknown): CodeProblem {
  const { task_id, prompt, entry_point, test, canonical_solution } = parseRow(schema, row, "HumanEval");
  refuseUngradable(task_id, [test]);
  return {
    id: task_id,
    prompt,
    entryPoint: entry_point,
    suite: compilePythonCheck({ test, entryPoint: entry_point, helpers: helpersOf(prompt, entry_point) }),
    ...(canonical_solution === undefined ? {} : { solution: prompt + canonical_solution }),
  };
}

/** Returns the definitions before the requested function in a prompt. Tests may use them. */
export function helpersOf(prompt: string, entryPoint: string): string {
  const line = readLogicalLines(prompt)?.find(
    ({ indent, tokens }) => indent === 0 && tokens[0]!.text === "def" && tokens[1]?.text === entryPoint,
  );
  return line === undefined ? "" : prompt.slice(0, line.tokens[0]!.start);
}
