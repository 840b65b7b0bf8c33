import { z } from "zod";
import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { helpersOf, humanEvalProblem } from "../shared/code-benchmarks/human-eval.ts";
import { mbppProblem } from "../shared/code-benchmarks/mbpp.ts";

/** A program that gets a bug or already has one. */
export interface BugFixTask {
  readonly problem: CodeProblem;
  /** The correct program. */
  readonly solution: string;
  /** The beginning of the program, which gets no bug: its imports, and helpers from the benchmark. */
  readonly preamble: string;
  /** The purpose of the program, if its source does not state it. */
  readonly description?: string;
  /** A real program with a bug, instead of a seeded one. */
  readonly buggy?: string;
}

const realHumanEval = z.object({ buggy_solution: z.string().optional() });
const realMbpp = z.object({ buggy_code: z.string().optional() });

/**
 * Returns the task of a row of HumanEval. The field `buggy_solution`, if present, is a real bug. Throws
 * `data.malformed`.
 */
export function humanEvalTask(row: unknown): BugFixTask {
  const problem = humanEvalProblem(row);
  const { buggy_solution } = realHumanEval.parse(row);
  const preamble = helpersOf(problem.prompt, problem.entryPoint);
  return {
    problem,
    solution: solutionOf(problem),
    preamble,
    ...(buggy_solution === undefined ? {} : { buggy: problem.prompt + buggy_solution }),
  };
}

/** Returns the task of a row of MBPP. The field `buggy_code`, if present, is a real bug. Throws `data.malformed`. */
export function mbppTask(row: unknown): BugFixTask {
  const problem = mbppProblem(row);
  const { buggy_code } = realMbpp.parse(row);
  const solution = solutionOf(problem);
  return {
    problem,
    solution,
    preamble: beginning(solution),
    description: problem.prompt.trim(),
    ...(buggy_code === undefined ? {} : { buggy: plain(buggy_code) }),
  };
}

function solutionOf({ id, solution }: CodeProblem): string {
  if (solution !== undefined) return plain(solution);
  throw new LyceumError({
    code: "data.malformed",
    message: `${id} has no solution to put a bug into.`,
    hint: "Each row needs a solution: canonical_solution in HumanEval's form, code in MBPP's form.",
  });
}

/** Normalizes line endings and removes blanks at the end of lines. */
function plain(program: string): string {
  return `${program
    .replace(/\r\n?/g, "\n")
    .replace(/[ \t]+$/gm, "")
    .trim()}\n`;
}

/** Returns the source code before the first function or class. */
function beginning(program: string): string {
  const starts = new Set(["def", "class", "async", "@"]);
  const lines = readLogicalLines(program) ?? [];
  const first = lines.find(({ indent, tokens }) => indent === 0 && starts.has(tokens[0]!.text));
  return first === undefined ? "" : program.slice(0, first.tokens[0]!.start);
}
