import type { Episode } from "../../src/contract/episode.ts";
import type { ErrorData } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import type { PreflightCheck } from "../../src/contract/training-event.ts";
import type { Comparison } from "../../src/evaluation/compare.ts";
import type { EvaluationManifest, TaskLine } from "../../src/evaluation/log/manifest.ts";
import type { EvaluationSummary, Metric } from "../../src/evaluation/log/summary.ts";
import type { ChartSection } from "../training/report-charts.ts";
import type { RunRecord } from "../training/run-record.ts";
import type { WarningGroup } from "../training/warning-group.ts";
import type { EpisodeFilter } from "./episode-filter.ts";
import type { EpisodeRow, ShownRow } from "./episode-row.ts";
import type { RunFact } from "./run-facts.ts";
import type { RunTile } from "./run-tiles.ts";

/** The source of the page's data: the server of `lyceum view`, or the content of an exported file. */
export interface ViewSource {
  runs(signal?: AbortSignal): Promise<RunList>;
  run(path: string, signal?: AbortSignal): Promise<RunView>;
  episodes(path: string, query: EpisodeQuery, signal?: AbortSignal): Promise<EpisodePage>;
  episode(path: string, query: TranscriptQuery, signal?: AbortSignal): Promise<EpisodeView>;
  compare(first: string, second: string, signal?: AbortSignal): Promise<ComparisonView>;
}

/** The runs in a folder. */
export interface RunList {
  /** The folder's name. */
  readonly folder: string;
  /** Newest first. */
  readonly runs: readonly RunSummary[];
}

/**
 * `running`: its process is alive. `stopped`: its process ended before the run ended, for example by a kill. `failed`: an
 * error ended it, or every episode of an evaluation failed.
 */
export type RunStatus = "running" | "completed" | "interrupted" | "failed" | "stopped";

/** A list entry of a run. */
export interface RunSummary {
  /** The path from the viewed folder, with slashes. `.` for the folder itself. */
  readonly path: string;
  readonly kind: "evaluation" | "training";
  readonly name: string;
  readonly environment: string;
  readonly model: string;
  readonly status: RunStatus;
  /** ISO 8601. */
  readonly startedAt: string;
  /** The number of episodes or steps. */
  readonly done: number;
  readonly total: number;
  /** The number of episodes of an evaluation that failed. */
  readonly failed?: number;
  /** The newest known scores. */
  readonly scores: RunScores;
  /** The source of the scores, such as `test, step 60`. */
  readonly scoresOf?: string;
  /** A few evenly spaced values of a metric of a training's steps. */
  readonly trend?: { readonly of: "reward" | "loss"; readonly values: readonly number[] };
  /** The error that ended it. */
  readonly error?: string;
  /** The read error, if any. */
  readonly problem?: string;
}

/** The figures that compare runs. Rewards and losses have their own units. The others are shares. */
export interface RunScores {
  readonly reward?: number;
  readonly accuracy?: number;
  readonly "win rate"?: number;
  readonly loss?: number;
}

/** A run with its figures. */
export type RunView = EvaluationView | TrainingView;

/** An evaluation without its episodes. */
export interface EvaluationView {
  readonly kind: "evaluation";
  readonly path: string;
  /** The path of the training that it belongs to, if there is one. */
  readonly training?: string;
  readonly status: RunStatus;
  readonly manifest: EvaluationManifest;
  /** Absent while the run is running, or after a kill. Without the figures of single tasks. */
  readonly summary?: Omit<EvaluationSummary, "tasks">;
  /** The error of the first failed episode, if every episode failed. */
  readonly error?: ErrorData;
  readonly counts: {
    readonly played: number;
    readonly scored: number;
    readonly unscored: number;
    readonly failed: number;
    readonly correct: number;
    /** Episodes with an answer that is reasoning alone. */
    readonly reasoningOnly: number;
  };
  /** From the summary, or so far: the accuracy and mean reward of the existing episodes. */
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly levels: readonly string[];
  /** The agents that acted, if episodes have several. */
  readonly agents: readonly string[];
  /** The share of the log that has been read, while a long one is being read. */
  readonly reading?: number;
  /** What an exported file omits. */
  readonly note?: string;
}

/** A training: its curves and facts. */
export interface TrainingView {
  readonly kind: "training";
  readonly path: string;
  readonly status: RunStatus;
  readonly start?: RunRecord["start"];
  readonly end?: RunRecord["end"];
  readonly startedAt: string;
  readonly etaMs?: number;
  readonly step: number;
  readonly facts: readonly RunFact[];
  /** The figures of its current state. */
  readonly tiles: readonly RunTile[];
  readonly sections: readonly ChartSection[];
  /** The checks before the first step. */
  readonly preflight?: readonly PreflightCheck[];
  /** The result of the probe before the first step. */
  readonly probe?: { readonly facts: readonly string[] } & Pick<NonNullable<RunRecord["probe"]>, "advice" | "samples">;
  /** `path`: of the stored evaluation, with its episodes. */
  readonly evaluations: readonly (RunRecord["evaluations"][number] & { readonly path?: string })[];
  /** The last ones, newest first. */
  readonly samples: RunRecord["samples"];
  readonly warnings: readonly WarningGroup[];
  readonly config?: Json;
  /** Its episodes, if it has a trace. */
  readonly trace?: TraceView;
  /** What an exported file omits. */
  readonly note?: string;
}

/** The facts about all episodes of a training. */
export interface TraceView {
  readonly episodes: number;
  /** The agents that acted, if episodes have several. */
  readonly agents: readonly string[];
  /** True if the step of each episode is known. */
  readonly hasSteps: boolean;
  /** As in {@link EvaluationView}. */
  readonly reading?: number;
}

/** A filter of episodes, and a page. */
export interface EpisodeQuery {
  readonly filter: EpisodeFilter;
  readonly offset: number;
  readonly limit: number;
}

/** A page of episodes. */
export interface EpisodePage {
  /** The number of episodes of the run. */
  readonly total: number;
  readonly matched: number;
  readonly offset: number;
  readonly rows: readonly ShownRow[];
  /** True if the search ended at its limit of matches, so that there may be more. */
  readonly more?: boolean;
  /** As in {@link EvaluationView}: there are more episodes. */
  readonly reading?: number;
}

/** Two compared evaluations. */
export interface ComparisonView extends Comparison {
  /** The beginning of the prompts of the first differing tasks, by the task's hash. */
  readonly prompts: Readonly<Record<string, string>>;
}

/** An episode's id, and the filter of its neighbours. */
export interface TranscriptQuery {
  readonly id: string;
  readonly filter: EpisodeFilter;
}

/** A complete episode, with its neighbours among those that the filter selects. */
export interface EpisodeView {
  readonly row: EpisodeRow;
  readonly episode: Episode;
  /** The task itself, including the reference answer, if the run has it. */
  readonly task?: TaskLine;
  /** Texts of tokens that a node has only as ids, by agent and node. */
  readonly tokenTexts: Readonly<Record<string, Readonly<Record<number, readonly string[]>>>>;
  /** From 0. -1 if the filter does not select it. */
  readonly position: number;
  readonly matched: number;
  readonly previous?: string;
  readonly next?: string;
}
