import type { Episode } from "../../contract/episode.ts";
import type { Json } from "../../contract/json.ts";
import type { Comparison } from "../../evaluation/compare.ts";
import type { EvaluationManifest, TaskLine } from "../../evaluation/log/manifest.ts";
import type { EvaluationSummary, Metric } from "../../evaluation/log/summary.ts";
import type { ChartSection } from "../training/report-charts.ts";
import type { RunRecord } from "../training/run-record.ts";
import type { RunTile } from "../training/run-tiles.ts";
import type { WarningGroup } from "../training/warning-group.ts";
import type { EpisodeFilter } from "./episode-filter.ts";
import type { EpisodeRow, ShownRow } from "./episode-row.ts";

/** Where the page has its data from: the server while `lyceum view` runs, or what an exported file holds. */
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

/** `running`: its process writes it; `stopped`: that process is gone, killed for example, before the run ended. */
export type RunStatus = "running" | "completed" | "interrupted" | "failed" | "stopped";

/** A run in a line. */
export interface RunSummary {
  /** From the viewed folder to the run's, with slashes; `.` for the folder itself. */
  readonly path: string;
  readonly kind: "evaluation" | "training";
  readonly name: string;
  readonly environment: string;
  readonly model: string;
  readonly status: RunStatus;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Episodes or steps. */
  readonly done: number;
  readonly total: number;
  /** Of the scores that are known, the newest. */
  readonly scores: RunScores;
  /** What the scores are of, such as `test, step 60`. */
  readonly scoresOf?: string;
  /** The course of a training's reward, or of its loss: few values, evenly spread. */
  readonly trend?: readonly number[];
  /** What ended it. */
  readonly error?: string;
  /** Why it cannot be read, where it cannot. */
  readonly problem?: string;
}

/** The figures that runs are compared by. Rewards and losses are in their own units, all else is a share. */
export interface RunScores {
  readonly reward?: number;
  readonly accuracy?: number;
  readonly "win rate"?: number;
  readonly loss?: number;
}

/** A run with its figures. */
export type RunView = EvaluationView | TrainingView;

/** An evaluation, without its episodes. */
export interface EvaluationView {
  readonly kind: "evaluation";
  readonly path: string;
  /** The path of the training that it belongs to, if there is one. */
  readonly training?: string;
  readonly status: RunStatus;
  readonly manifest: EvaluationManifest;
  /** Absent while the run goes on, or after a kill. The figures of single tasks are left out. */
  readonly summary?: Omit<EvaluationSummary, "tasks">;
  readonly counts: {
    readonly played: number;
    readonly scored: number;
    readonly unscored: number;
    readonly failed: number;
    readonly correct: number;
  };
  /** Of the summary, or so far: the accuracy and mean reward of the episodes that there are. */
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly levels: readonly string[];
  /** Those that acted, where episodes have several. */
  readonly agents: readonly string[];
  /** The share of the log that was read, while a long one is being read. */
  readonly reading?: number;
  /** What an exported file leaves out. */
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
  readonly elapsedMs: number;
  readonly etaMs?: number;
  readonly step: number;
  /** The figures that it is judged by. */
  readonly tiles: readonly RunTile[];
  readonly sections: readonly ChartSection[];
  /** What was found before the first step. */
  readonly probe?: { readonly facts: readonly string[] } & Pick<NonNullable<RunRecord["probe"]>, "advice" | "samples">;
  /** `path`: of the stored evaluation, with its episodes. */
  readonly evaluations: readonly (RunRecord["evaluations"][number] & { readonly path?: string })[];
  /** The last ones, newest first. */
  readonly samples: RunRecord["samples"];
  readonly warnings: readonly WarningGroup[];
  readonly config?: Json;
  /** Its episodes, where it keeps a trace of them. */
  readonly trace?: TraceView;
  /** What an exported file leaves out. */
  readonly note?: string;
}

/** What is known of a training's episodes as a whole. */
export interface TraceView {
  readonly episodes: number;
  /** Those that acted, where episodes have several. */
  readonly agents: readonly string[];
  /** Whether it is known which step an episode is of. */
  readonly hasSteps: boolean;
  /** As in {@link EvaluationView}. */
  readonly reading?: number;
}

/** Which episodes, and which of them. */
export interface EpisodeQuery {
  readonly filter: EpisodeFilter;
  readonly offset: number;
  readonly limit: number;
}

/** A page of episodes. */
export interface EpisodePage {
  /** Of the run. */
  readonly total: number;
  readonly matched: number;
  readonly offset: number;
  readonly rows: readonly ShownRow[];
  /** The search ended at its limit of matches: there may be more. */
  readonly more?: boolean;
  /** As in {@link EvaluationView}: there are more episodes. */
  readonly reading?: number;
}

/** Two evaluations compared. */
export interface ComparisonView extends Comparison {
  /** The beginning of the prompt of tasks that differ, by the task's hash: of the first ones. */
  readonly prompts: Readonly<Record<string, string>>;
}

/** Which episode, and among which. */
export interface TranscriptQuery {
  readonly id: string;
  readonly filter: EpisodeFilter;
}

/** An episode, whole, with its neighbours among those that the filter lets through. */
export interface EpisodeView {
  readonly row: EpisodeRow;
  readonly episode: Episode;
  /** The task itself, gold answer included, where the run has it. */
  readonly task?: TaskLine;
  /** Texts of tokens that a node has as ids only, by agent and node. */
  readonly tokenTexts: Readonly<Record<string, Readonly<Record<number, readonly string[]>>>>;
  /** From 0; -1 where the filter does not let it through. */
  readonly position: number;
  readonly matched: number;
  readonly previous?: string;
  readonly next?: string;
}
