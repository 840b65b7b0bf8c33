import type { ErrorData } from "../contract/errors/index.ts";
import type { EpisodeEntry } from "./log/episode-entry.ts";
import type { EvaluationManifest } from "./log/manifest.ts";
import type { EvaluationSummary } from "./log/summary.ts";

/** What an evaluation tells while it goes on. */
export type EvaluationEvent = EvaluationStartEvent | EpisodeLoggedEvent | WarningEvent | EvaluationEndEvent;

/** The folder is ready and playing begins. */
export interface EvaluationStartEvent {
  readonly type: "start";
  readonly folder: string;
  readonly manifest: EvaluationManifest;
  /** Episodes of the run that an earlier process played, and that stay. */
  readonly played: readonly EpisodeEntry[];
}

/** An episode is in the log. */
export interface EpisodeLoggedEvent {
  readonly type: "episode";
  readonly entry: EpisodeEntry;
}

/** Something that belongs to no episode went wrong: an environment that could not be closed. */
export interface WarningEvent {
  readonly type: "warning";
  readonly error: ErrorData;
}

/** The last event, also of a run that was aborted. */
export interface EvaluationEndEvent {
  readonly type: "end";
  readonly summary: EvaluationSummary;
}
