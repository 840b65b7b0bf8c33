import type { Episode } from "../../rollout/episode.ts";
import { type TraceEntry, traceEntry } from "../../trace/trace-entry.ts";
import type { TracePlace } from "../../trace/trace-writer.ts";
import type { CorrectRule } from "./manifest.ts";

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
  return { file, ...traceEntry(episode, place), correct: isCorrect(episode, correct) };
}

/** True where nobody can tell how well an episode went: it failed, or a reward of it is unscored. */
export function isUnscored({ status, agents }: Pick<Episode, "status" | "agents">): boolean {
  return status === "failed" || Object.values(agents).some(({ reward }) => reward.status === "unscored");
}

/** Parts of a reward, such as thirds, need not add up to the last bit. */
const rounding = 1e-9;

function isCorrect(episode: Episode, rule: CorrectRule | undefined): boolean | null {
  if (rule === undefined || isUnscored(episode)) return null;
  if ("stated" in rule) return episode.correct === true;
  const { component, atLeast } = rule;
  // An agent that never acted, as in a problem without a part for it, is not asked.
  const acted = Object.values(episode.agents).filter(({ turns }) => turns.length > 0);
  return (
    acted.length > 0 &&
    acted.every(({ reward }) => {
      if (reward.status === "unscored") return false;
      const value = component === undefined ? reward.value : reward.components[component];
      return value !== undefined && value >= atLeast - rounding;
    })
  );
}
