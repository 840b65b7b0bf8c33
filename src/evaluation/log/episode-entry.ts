import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { Episode } from "../../contract/episode.ts";
import { type TraceEntry, traceEntry } from "../../core/trace/trace-entry.ts";
import type { TracePosition } from "../../core/trace/trace-writer.ts";
import { isCorrect } from "../correctness.ts";
import type { evaluatedAgents } from "../evaluated-agents.ts";

/**
 * A line of `index.jsonl`: a summary of an episode and its position in the trace. If an id has several lines, the last
 * one is valid. Entries derive from the episodes and the manifest's rule, so a lost index can be rebuilt.
 */
export interface EpisodeEntry extends TraceEntry {
  readonly file: "episodes" | "failures";
  /** True if the episode is correct. Null if it is unscored or the run has no rule for correct episodes. */
  readonly correct: boolean | null;
}

/** How the episodes of a run are judged. */
export interface EpisodeJudge {
  /** The rule for correct episodes, if there is one. */
  readonly correct: CorrectRule | undefined;
  /** The agents whose rewards decide. All by default. */
  readonly evaluated?: ReturnType<typeof evaluatedAgents> | undefined;
}

/** Returns the entry of an episode at position `position` of its file. */
export function episodeEntry(
  episode: Episode,
  options: EpisodeJudge & { readonly file: EpisodeEntry["file"]; readonly position: TracePosition },
): EpisodeEntry {
  const { file, position, correct = null, evaluated } = options;
  return {
    file,
    ...traceEntry(episode, position),
    correct: isCorrect(episode, correct, evaluated?.(episode.sampleIndex)),
  };
}
