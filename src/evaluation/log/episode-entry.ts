import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { Episode } from "../../contract/episode.ts";
import { type TraceEntry, traceEntry } from "../../core/trace/trace-entry.ts";
import type { TracePlace } from "../../core/trace/trace-writer.ts";
import { isCorrect } from "../correctness.ts";

/**
 * A line of `index.jsonl`: an episode in short, and where all of it is. Of two lines with one id the later counts.
 * It follows from the episode and the manifest's rule, so that a lost index can be made again.
 */
export interface EpisodeEntry extends TraceEntry {
  readonly file: "episodes" | "failures";
  /** Whether it counts as correct; null where it is unscored, or nothing counts as correct. */
  readonly correct: boolean | null;
}

/** The entry of an episode that stands at `place` of its file. */
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
