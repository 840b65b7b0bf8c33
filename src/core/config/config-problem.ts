import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";

/** One problem of a config, and its place. */
export interface ConfigProblem {
  /** `file:line:column`, or the override as the user typed it. */
  readonly location: string;
  readonly line?: number;
  readonly column?: number;
  /** The dotted path of the key. Empty for the whole config. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** The maximum number of problems in one error. */
export const maxProblems = 50;

/**
 * Creates one `config.invalid` error for all problems of a config. A single problem keeps its hint in `hint`. Several
 * problems are listed one per line with their hints, up to {@link maxProblems}. `data.problems` contains them for
 * programs.
 */
export function configError(source: string, unsorted: readonly ConfigProblem[]): LyceumError {
  const sorted = unsorted.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0);
  const problems = sorted.slice(0, maxProblems);
  const left = sorted.length - problems.length;
  const data = { problems: problems.map((problem): Json => ({ ...problem })) };
  const [first] = problems;
  if (problems.length === 1 && first !== undefined) {
    return new LyceumError({ code: "config.invalid", message: describe(first), hint: first.hint, data });
  }
  const lines = problems.map((problem) => {
    const hint = problem.hint === undefined ? "" : `\n    ${problem.hint}`;
    return `  ${describe(problem)}${hint}`;
  });
  return new LyceumError({
    code: "config.invalid",
    message: [`${sorted.length} problems in ${source}:`, ...lines, ...(left === 0 ? [] : [`  and ${left} more`])].join(
      "\n",
    ),
    data,
  });
}

function describe(problem: ConfigProblem): string {
  return `${problem.location}: ${problem.message}`;
}
