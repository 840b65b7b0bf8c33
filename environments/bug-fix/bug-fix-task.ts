import { z } from "zod";
import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { helpersOf, humanEvalProblem } from "../shared/code-benchmarks/human-eval.ts";
import { mbppProblem } from "../shared/code-benchmarks/mbpp.ts";

/** A program to be given a bug, or one that has one. */
export interface BugFixTask {
  readonly problem: CodeProblem;
  /** The right program. */
  readonly solution: string;
  /** What the program begins with and no bug is put into: its imports, and helpers that the benchmark gives. */
  readonly preamble: string;
  /** What the program should do, where it does not say so itself. */
  readonly description?: string;
  /** A real program with a bug, instead of a seeded one. */
  readonly buggy?: string;
}

const realHumanEval = z.object({ buggy_solution: z.string().optional() });
const realMbpp = z.object({ buggy_code: z.string().optional() });

/** A task from a row of HumanEval, whose `buggy_solution`, if it has one, is a real bug. Throws `data.malformed`. */
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

/** A task from a row of MBPP, whose `buggy_code`, if it has one, is a real bug. Throws `data.malformed`. */
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
    message: `${id} has no solution, so that there is nothing to put a bug into.`,
    hint: "Rows of this environment need a solution; canonical_solution in HumanEval's form, code in MBPP's.",
  });
}

/** A program as it is shown: lines that end alike, no blanks at their ends. */
function plain(program: string): string {
  return `${program
    .replace(/\r\n?/g, "\n")
    .replace(/[ \t]+$/gm, "")
    .trim()}\n`;
}

/** What comes before the first function or class. */
function beginning(program: string): string {
  const starts = new Set(["def", "class", "async", "@"]);
  const lines = readLogicalLines(program) ?? [];
  const first = lines.find(({ indent, tokens }) => indent === 0 && starts.has(tokens[0]!.text));
  return first === undefined ? "" : program.slice(0, first.tokens[0]!.start);
}
