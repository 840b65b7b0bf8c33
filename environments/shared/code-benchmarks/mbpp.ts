import { z } from "zod";
import { compilePythonAsserts, compilePythonCheck } from "../../../sandbox/grading/python/compile-python-tests.ts";
import { calledNames, definedNames } from "../../../sandbox/grading/python/python-names.ts";
import { readLogicalLines } from "../../../sandbox/grading/python/python-tokens.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { parseRow } from "./benchmark-row.ts";
import type { CodeProblem } from "./code-problem.ts";
import { helpersOf } from "./human-eval.ts";
import { refuseUngradable } from "./refuse-ungradable.ts";

const schema = z.object({
  task_id: z.number(),
  text: z.string(),
  code: z.string(),
  test_setup_code: z.string(),
  test_list: z.array(z.string()).min(1),
});

/**
 * Returns the problem of a row of MBPP (Austin et al. 2021, https://arxiv.org/abs/2108.07732). Throws `data.malformed`.
 */
export function mbppProblem(row: unknown): CodeProblem {
  const { task_id, text, code, test_setup_code, test_list } = parseRow(schema, row, "MBPP");
  const id = `MBPP/${task_id}`;
  return { id, prompt: text, solution: code, ...assertSuite({ id, code, setup: test_setup_code, tests: test_list }) };
}

/** Returns the test suite of a row whose tests are asserts, and the function that they call. */
function assertSuite(row: {
  readonly id: string;
  readonly code: string;
  readonly setup: string;
  readonly tests: readonly string[];
}): Pick<CodeProblem, "entryPoint" | "suite"> {
  const { id, code, setup, tests } = row;
  refuseUngradable(id, [setup, ...tests]);
  const defined = definedNames(code);
  const [entryPoint] = calledNames(tests, defined);
  if (entryPoint === undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The tests of ${id} call no function.`,
      hint: "Compare the row with the published file.",
    });
  }
  return { entryPoint, suite: compilePythonAsserts({ tests, setup, defined }) };
}

const comlrlSchema = z.object({ task_id: z.string(), prompt: z.string(), entry_point: z.string(), test: z.string() });

const sanitizedSchema = z.object({
  task_id: z.number(),
  prompt: z.string(),
  code: z.string(),
  test_imports: z.array(z.string()),
  test_list: z.array(z.string()).min(1),
});

/**
 * Returns a problem of the sanitized MBPP in HumanEval's form. The row is either CoMLRL's or the sanitized MBPP's own,
 * whose prompt is converted to the same form. Throws `data.malformed`.
 */
export function sanitizedMbppProblem(row: unknown): CodeProblem {
  if (typeof (row as { readonly task_id?: unknown } | null)?.task_id !== "number") return comlrlMbppProblem(row);
  const { task_id, prompt, code, test_imports, test_list } = parseRow(sanitizedSchema, row, "sanitized MBPP");
  const id = `MBPP-sanitized/${task_id}`;
  const parts = assertSuite({ id, code, setup: test_imports.join("\n"), tests: test_list });
  const docstring = `    '''${prompt}\n    '''\n`;
  return { id, prompt: `${signatureOf(code, parts.entryPoint)}\n${docstring}`, solution: code, ...parts };
}

/** Returns the first line of a top-level function, such as `def f(x):`, without the return annotation. */
function signatureOf(code: string, name: string): string {
  const line = readLogicalLines(code)?.find(({ indent, tokens }) => {
    return indent === 0 && tokens[0]!.text === "def" && tokens[1]?.text === name;
  });
  let depth = 0;
  for (const { text, end } of line?.tokens.slice(2) ?? []) {
    if (text === "(" || text === "[" || text === "{") depth += 1;
    if (text === ")" || text === "]" || text === "}") depth -= 1;
    if (depth === 0) return `${code.slice(line!.tokens[0]!.start, end)}:`;
  }
  return `def ${name}(*args):`;
}

/**
 * Returns the problem of a row of CoMLRL's sanitized MBPP, which is in HumanEval's form. Some tests contain the
 * candidate's name in place of `math.isclose` and `set`. This function repairs them. Throws `data.malformed`.
 */
function comlrlMbppProblem(row: unknown): CodeProblem {
  const { task_id, prompt, entry_point, test } = parseRow(comlrlSchema, row, "CoMLRL's MBPP");
  const helpers = helpersOf(prompt, entry_point);
  const suite = compilePythonCheck({ test: repaired(test), entryPoint: entry_point, helpers });
  return { id: task_id, prompt, entryPoint: entry_point, suite };
}

/**
 * Restores `math.isclose(` from `math.candidate(`, and `set` from the outer calls of `candidate(candidate(...)) ==
 * candidate(...)`.
 */
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
