import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { Episode } from "../../contract/episode.ts";
import { type TraceEntry, traceEntry } from "../../core/trace/trace-entry.ts";
import type { TracePlace } from "../../core/trace/trace-writer.ts";
import { isCorrect } from "../correctness.ts";

/**
 * A line of `index.jsonl`: a summary of an episode and its position in the trace. If an id has several lines, the last
 * one is valid. Entries derive from the episodes and the manifest's rule, so a lost index can be rebuilt.
 */
export interface EpisodeEntry extends TraceEntry {
  readonly file: "episodes" | "failures";
  /** True if the episode is correct. Null if it is unscored or the run has no rule for correct episodes. */
  readonly correct: boolean | null;
}

/** Returns the entry of an episode at position `place` of its file. */
export function episodeEntry(
  episode: Episode,
  options: {
    readonly file: EpisodeEntry["file"];
    readonly place: TracePlace;
    readonly correct: CorrectRule | undefined;
  },
): EpisodeEntry {
  const { file, place, correct } = options;
  return { file, ...traceEntry(episode, place), correct: isCorrect(episode, correct ?? null) };
}
