import type { AgentId } from "../../contract/action.ts";
import type { CorrectRule } from "../../contract/correct-rule.ts";

/** `summary.json`: what an evaluation came to. Everything but `time` and `cost` follows from the episodes alone. */
export interface EvaluationSummary {
  readonly format: "lyceum-evaluation-summary";
  readonly version: 1;
  readonly name: string;
  readonly models: Readonly<Record<AgentId, string>>;
  /** `interrupted`: episodes are missing. */
  readonly status: "completed" | "interrupted";
  readonly counts: EpisodeCounts;
  /** What counts as correct; absent if nothing does. */
  readonly correct?: CorrectRule;
  /**
   * `accuracy`, `pass@k`, `pass^k`, `win-rate`, `reward`, `reward/AGENT` (`reward/MODEL` where seats rotate),
   * `component/NAME`, by name. Scores are shares from 0 to 1, rewards in the environment's own unit.
   */
  readonly metrics: Readonly<Record<string, Metric>>;
  /** The same by level, where tasks have levels. */
  readonly levels: Readonly<Record<string, LevelSummary>>;
  readonly tasks: readonly TaskSummary[];
  readonly tokens?: { readonly prompt: number; readonly completion: number };
  readonly cost?: { readonly dollars: number };
  readonly time: TimeSummary;
}

/** Episodes counted by how they went. */
export interface EpisodeCounts {
  readonly tasks: number;
  /** Tasks times samples. */
  readonly episodes: number;
  readonly played: number;
  readonly scored: number;
  /** Played, but nobody can tell how well: neither right nor wrong. Failed ones are among them. */
  readonly unscored: number;
  readonly failed: number;
  readonly truncated: number;
  readonly correct: number;
}

/** One figure. */
export interface Metric {
  /** Over scored episodes (for pass@k: tasks with at least k of them), each task with the same weight. */
  readonly value: number;
  /** For shares: over all that was played, as if everything unscored were wrong. The value can be no worse. */
  readonly overAll?: number;
  readonly interval?: Interval;
  /** The tasks that it is made of. */
  readonly tasks: number;
}

/** An interval of confidence. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly level: 0.95;
  /** `wilson`: Wilson's score interval of a share. `bootstrap`: percentiles of 1,000 means of tasks drawn again. */
  readonly method: "wilson" | "bootstrap";
}

/** The figures of one level. */
export interface LevelSummary {
  readonly counts: EpisodeCounts;
  readonly metrics: Readonly<Record<string, Metric>>;
}

/** The figures of one task. */
export interface TaskSummary {
  readonly index: number;
  readonly id: string;
  readonly hash: string;
  readonly level?: string;
  readonly played: number;
  readonly scored: number;
  readonly correct: number;
  /** Mean over scored episodes and agents. */
  readonly reward: number | null;
}

/** How long it took, in milliseconds. */
export interface TimeSummary {
  readonly startedAt: string;
  readonly endedAt: string;
  /** Of the process that ended the run. */
  readonly elapsedMs: number;
  /** Of an episode, over all that were played. */
  readonly episodeMs?: Percentiles;
  /** Of an action (the mean of an episode's), where the policy tells its latency. */
  readonly actionMs?: Percentiles;
}

/** Percentiles by the nearest rank. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}
