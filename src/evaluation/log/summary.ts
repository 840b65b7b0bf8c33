import type { AgentId } from "../../contract/action.ts";
import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { JudgeUsage } from "../../contract/judge.ts";

/**
 * `summary.json`: the results of an evaluation. All but `time` and `cost` depends on the episodes alone.
 *
 * @example
 * import type { EvaluationSummary } from "lyceum";
 * const headline = ({ name, metrics }: EvaluationSummary): string =>
 *   `${name}: reward ${metrics.reward?.value.toFixed(2)}, accuracy ${metrics.accuracy?.value.toFixed(2)}`;
 */
export interface EvaluationSummary {
  readonly format: "lyceum-evaluation-summary";
  readonly version: 2;
  readonly name: string;
  readonly models: Readonly<Record<AgentId, string>>;
  /** `failed`: every played episode failed. `interrupted`: episodes are missing. */
  readonly status: "completed" | "interrupted" | "failed";
  readonly counts: EpisodeCounts;
  /** The rule for correct episodes, if there is one. */
  readonly correct?: CorrectRule;
  /**
   * The metrics by name: `accuracy`, `pass@k`, `pass^k`, `win-rate`, `reward`, `reward/AGENT` (`reward/MODEL` if models
   * rotate between agents), `component/NAME`. Accuracy, pass@k, pass^k and win rate are shares from 0 to 1. Rewards and
   * components have the environment's unit.
   */
  readonly metrics: Readonly<Record<string, Metric>>;
  /**
   * The counts and metrics by group of tasks (`groupOf`): the 32 largest groups, then `(other)`. Empty without groups.
   */
  readonly levels: Readonly<Record<string, LevelSummary>>;
  readonly tasks: readonly TaskSummary[];
  readonly tokens?: { readonly prompt: number; readonly completion: number };
  readonly cost?: { readonly dollars: number };
  /**
   * The number of answers that are reasoning alone, without a text or a tool call, of all answers, and the number of
   * played episodes with such an answer. Environments read them as empty. Absent if there are none.
   */
  readonly reasoningOnly?: { readonly answers: number; readonly ofAnswers: number; readonly episodes: number };
  /** The requests to the judge, their tokens and their cost. Absent without a judge. */
  readonly judge?: JudgeSummary;
  readonly time: TimeSummary;
}

/** The requests to the judge of a run. */
export interface JudgeSummary extends Pick<JudgeUsage, "requests" | "cached" | "failed"> {
  readonly tokens: { readonly prompt: number; readonly completion: number };
  readonly cost?: { readonly dollars: number };
}

/** The numbers of episodes by outcome. */
export interface EpisodeCounts {
  readonly tasks: number;
  /** The number of tasks times the number of samples. */
  readonly episodes: number;
  readonly played: number;
  readonly scored: number;
  /** Played episodes without a score, such as failed ones. They are neither right nor wrong. */
  readonly unscored: number;
  readonly failed: number;
  readonly truncated: number;
  readonly correct: number;
}

/** A metric of an evaluation. */
export interface Metric {
  /**
   * The mean over tasks of the mean over their scored episodes. pass@k and pass^k exclude tasks with fewer than k
   * scored episodes.
   */
  readonly value: number;
  /** For accuracy, pass@k and pass^k: the value if all unscored episodes count as wrong. A lower bound of the value. */
  readonly overAll?: number;
  readonly interval?: Interval;
  /** The number of tasks in the mean. */
  readonly tasks: number;
}

/** A confidence interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly level: 0.95;
  /**
   * `wilson`: Wilson's score interval of a share. `bootstrap`: percentiles of the means of 1,000 resamples of tasks.
   */
  readonly method: "wilson" | "bootstrap";
}

/** The counts and metrics of one group of tasks. */
export interface LevelSummary {
  readonly counts: EpisodeCounts;
  readonly metrics: Readonly<Record<string, Metric>>;
}

/** The results of one task. */
export interface TaskSummary {
  readonly index: number;
  readonly id: string;
  readonly hash: string;
  readonly level?: string;
  readonly played: number;
  readonly scored: number;
  readonly correct: number;
  /** The mean over scored episodes and agents. Null if no episode is scored. */
  readonly reward: number | null;
}

/** The durations of an evaluation, in milliseconds, and its start and end in ISO 8601. */
export interface TimeSummary {
  readonly startedAt: string;
  readonly endedAt: string;
  /** The duration of the process that ended the run. */
  readonly elapsedMs: number;
  /** The durations of the played episodes. */
  readonly episodeMs?: Percentiles;
  /** The mean latency of an action in each episode, if the policy reports latencies. */
  readonly actionMs?: Percentiles;
}

/** Percentiles by the nearest-rank method. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}
