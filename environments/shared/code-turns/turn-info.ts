import type { CodeGrade } from "../../../sandbox/grading/grade-code.ts";
import { codeLevels } from "./code-levels.ts";

/** What a step tells of the code that it ran: for traces, and in numbers for the metrics of a training run. */
export type TurnInfo = {
  /** From 0. */
  readonly turn: number;
  readonly status: CodeGrade["status"];
  readonly passed: boolean;
  /** What ran the code. */
  readonly sandbox: string;
  readonly metrics: {
    /** What the code is worth if it is the last, whether it is paid or not. */
    readonly reward?: number;
    /** Levels reached, from 0 to 4: it parses, it defines what was asked for, a hidden test passes, every test does. */
    readonly level: number;
    readonly syntax: boolean;
    readonly definition: boolean;
    /** Share of hidden tests that pass, from 0 to 1. */
    readonly tests: number;
    readonly passed: boolean;
  };
};

/** An info with further metrics. */
export function withMetrics<Info extends { readonly metrics: object }, Metrics extends object>(
  info: Info,
  metrics: Metrics,
): Info & { readonly metrics: Metrics } {
  return { ...info, metrics: { ...info.metrics, ...metrics } };
}

/** The info of a step. `components` are those of the reward that its code is worth. */
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
