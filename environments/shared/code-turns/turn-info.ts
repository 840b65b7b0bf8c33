import type { CodeGrade } from "../../../sandbox/grading/grade-code.ts";
import { codeLevels } from "./code-levels.ts";

/** The info of a step about the code that it ran, for traces and for the metrics of a training run. */
export type TurnInfo = {
  /** From 0. */
  readonly turn: number;
  readonly status: CodeGrade["status"];
  readonly passed: boolean;
  /** The sandbox that ran the code. */
  readonly sandbox: string;
  readonly metrics: {
    /** The reward that the code would earn as the last answer, also in turns without a reward. */
    readonly reward?: number;
    /**
     * The number of reached levels, from 0 to 4: the code parses, has the required definitions, passes a hidden test,
     * passes all tests.
     */
    readonly level: number;
    readonly syntax: boolean;
    readonly definition: boolean;
    /** The share of hidden tests that pass, from 0 to 1. */
    readonly tests: number;
    readonly passed: boolean;
  };
};

/** Adds metrics to an info. */
export function withMetrics<Info extends { readonly metrics: object }, Metrics extends object>(
  info: Info,
  metrics: Metrics,
): Info & { readonly metrics: Metrics } {
  return { ...info, metrics: { ...info.metrics, ...metrics } };
}

/** Returns the info of a step. `components` are the reward components of its code. */
export function turnInfo(options: {
  readonly turn: number;
  readonly grade: CodeGrade;
  readonly sandbox: string;
  readonly components?: Readonly<Record<string, number>>;
}): TurnInfo {
  const { turn, grade, sandbox, components } = options;
  const { status } = grade;
  const { syntax, definition, tests, passed } = codeLevels(grade);
  const levels = [syntax, definition, tests > 0, passed];
  const missed = levels.indexOf(false);
  return {
    turn,
    status,
    passed,
    sandbox,
    metrics: {
      ...(components === undefined ? {} : { reward: Object.values(components).reduce((sum, value) => sum + value, 0) }),
      level: missed === -1 ? levels.length : missed,
      syntax,
      definition,
      tests,
      passed,
    },
  };
}
