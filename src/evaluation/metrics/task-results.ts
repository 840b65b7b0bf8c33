import type { AgentId } from "../../contract/action.ts";
import { episodeId } from "../../core/rollout/episode-id.ts";
import { sum } from "../../core/statistics.ts";
import type { EpisodeEntry } from "../log/episode-entry.ts";
import type { EpisodeCounts, TaskSummary } from "../log/summary.ts";
import type { PlannedLine } from "../task-plan.ts";

/** The episodes of one task. */
export interface TaskResult {
  readonly task: PlannedLine;
  /** The played episodes, in order of `sampleIndex`. */
  readonly played: readonly EpisodeEntry[];
  /** The played episodes in which all rewards are scored. */
  readonly scored: readonly EpisodeEntry[];
  readonly correct: number;
}

/** Returns the episodes of a run by task, in order. Skips episodes of other tasks and samples. */
export function taskResults(
  tasks: readonly PlannedLine[],
  options: { readonly samples: number; readonly entries: ReadonlyMap<string, EpisodeEntry> },
): TaskResult[] {
  const { samples, entries } = options;
  const sampleIndices = Array.from({ length: samples }, (_, sampleIndex) => sampleIndex);
  return tasks.map((task) => {
    const played = sampleIndices.flatMap((sampleIndex) => entries.get(episodeId({ ...task, sampleIndex })) ?? []);
    const scored = played.filter(({ file }) => file === "episodes");
    return { task, played, scored, correct: scored.filter(({ correct }) => correct === true).length };
  });
}

/** Returns the reward of an episode: the mean over its agents, or over those that are given. */
export function episodeReward({ agents }: EpisodeEntry, of?: ReadonlySet<AgentId>): number {
  const rewards = Object.entries(agents).flatMap(([agent, { reward }]) =>
    of === undefined || of.has(agent) ? [reward ?? 0] : [],
  );
  return mean(rewards) ?? 0;
}

/** Returns the summary of one task. */
export function taskSummary({ task, played, scored, correct }: TaskResult): TaskSummary {
  const { index, id, hash, level } = task;
  return {
    index,
    id,
    hash,
    level,
    played: played.length,
    scored: scored.length,
    correct,
    reward: mean(scored.map((entry) => episodeReward(entry))) ?? null,
  };
}

/** Counts episodes by outcome. */
export function countEpisodes(results: readonly TaskResult[], samples: number): EpisodeCounts {
  const count = (of: (result: TaskResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
  const played = count((result) => result.played.length);
  const scored = count((result) => result.scored.length);
  const ended = (status: EpisodeEntry["status"]): number =>
    count((result) => result.played.filter((entry) => entry.status === status).length);
  return {
    tasks: results.length,
    episodes: results.length * samples,
    played,
    scored,
    unscored: played - scored,
    failed: ended("failed"),
    truncated: ended("truncated"),
    correct: count((result) => result.correct),
  };
}

/** Returns the mean. Returns undefined for an empty array. */
export function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : sum(values) / values.length;
}
