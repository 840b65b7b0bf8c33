import type { Episode } from "../contract/episode.ts";
import type { ErrorData } from "../contract/errors/index.ts";
import type { EpisodeEntry } from "./log/episode-entry.ts";
import type { EvaluationManifest } from "./log/manifest.ts";
import type { EvaluationSummary } from "./log/summary.ts";

/** An event of an evaluation. */
export type EvaluationEvent = EvaluationStartEvent | EpisodeLoggedEvent | EvaluationWarningEvent | EvaluationEndEvent;

/** Sent when the folder is ready, before the first episode. */
export interface EvaluationStartEvent {
  readonly type: "start";
  readonly folder: string;
  readonly manifest: EvaluationManifest;
  /** The episodes that an earlier process played and that are kept. */
  readonly played: readonly EpisodeEntry[];
}

/** Sent after an episode has been logged. */
export interface EpisodeLoggedEvent {
  readonly type: "episode";
  readonly entry: EpisodeEntry;
  readonly episode: Episode;
}

/** An error outside of episodes, such as an environment that could not be closed. */
export interface EvaluationWarningEvent {
  readonly type: "warning";
  readonly error: ErrorData;
}

/** The last event. Aborted runs send it too. */
export interface EvaluationEndEvent {
  readonly type: "end";
  readonly summary: EvaluationSummary;
}
