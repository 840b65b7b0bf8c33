import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";

/** One thing that is wrong with a config, and where a person finds it. */
export interface ConfigProblem {
  /** `file:line:column`, or the override as it was typed. */
  readonly location: string;
  readonly line?: number;
  readonly column?: number;
  /** Dotted path of the key; empty for the whole config. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** The most problems that an error lists. */
export const mostProblems = 50;

/**
 * One error of code `config.invalid` for all problems of a config. A single problem keeps its hint apart; several
 * are listed one a line, each with its own, up to {@link mostProblems}. `data.problems` holds them for programs.
 */
export function configError(source: string, unsorted: readonly ConfigProblem[]): LyceumError {
  const sorted = unsorted.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0);
  const problems = sorted.slice(0, mostProblems);
  const left = sorted.length - problems.length;
  const data = { problems: problems.map((problem): Json => ({ ...problem })) };
  const [first] = problems;
  if (problems.length === 1 && first !== undefined) {
    return new LyceumError({
      code: "config.invalid",
      message: describe(first),
      ...(first.hint === undefined ? {} : { hint: first.hint }),
      data,
    });
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
