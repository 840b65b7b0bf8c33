import type { Episode } from "../../src/contract/episode.ts";
import type { TraceEntry } from "../../src/core/trace/trace-entry.ts";
import type { EpisodeEntry } from "../../src/evaluation/log/episode-entry.ts";

/** The outcome of an episode. `scored`: it has a reward, and its run does not define correctness. */
export type EpisodeOutcome = "correct" | "wrong" | "scored" | "unscored" | "failed";

/** An episode as a row of the table. Small enough that a hundred thousand fit into memory. */
export interface EpisodeRow {
  readonly id: string;
  readonly task: { readonly index: number; readonly id: string };
  readonly level?: string | undefined;
  /** For trainings. Absent if it is unknown, and while the step is running. */
  readonly step?: number | undefined;
  readonly sampleIndex: number;
  readonly outcome: EpisodeOutcome;
  readonly status: Episode["status"];
  /** The mean over its agents. Null if it is unscored. */
  readonly reward: number | null;
  /** With several agents, the reward of each agent that acted. */
  readonly rewards?: Readonly<Record<string, number | null>> | undefined;
  readonly turns: number;
  /** The number of sampled tokens, if the policy reports them. */
  readonly tokens: number | null;
  /** True if one of its answers is reasoning alone. */
  readonly reasoningOnly?: true | undefined;
  readonly durationMs: number;
  /** Why it failed, is unscored, or was truncated. */
  readonly reason?: string | undefined;
}

/** A row of the table with its texts. */
export interface ShownRow extends EpisodeRow {
  /** The beginning of the prompt, without the common beginning of all prompts of the page. Absent like `words`. */
  readonly prompt?: string;
  /** The beginning of the last message. Absent if the episodes are too long to read. */
  readonly words?: string;
}

/** Adds texts to a row. Empty ones are omitted. */
export function shownRow(row: EpisodeRow, { prompt, words }: { prompt: string; words: string }): ShownRow {
  return { ...row, ...(prompt === "" ? {} : { prompt }), ...(words === "" ? {} : { words }) };
}

/** The files of episodes: those of an evaluation or of a training. */
export type EpisodeFile = EpisodeEntry["file"] | "trace";

/** A row of the table, and the position of the complete episode. */
export interface IndexedRow extends EpisodeRow {
  readonly file: EpisodeFile;
  readonly offset: number;
  readonly length: number;
}

/** An entry of an evaluation's log or of a training's trace. */
type Entry = TraceEntry & Partial<Pick<EpisodeEntry, "file" | "correct">>;

/** Returns the row of an episode, with the episode's position. Called a hundred thousand times while a page waits. */
export function indexedRow(
  entry: Entry,
  known: Pick<IndexedRow, "file" | "task"> & Partial<Pick<IndexedRow, "level" | "step">>,
): IndexedRow {
  const { id, sampleIndex, status, turns, durationMs, error, limit, agents, offset, length } = entry;
  let tokens: number | null = null;
  let [earned, count, isScored] = [0, 0, true];
  let reason: string | undefined = error?.code;
  let reasoningOnly: true | undefined;
  for (const agent in agents) {
    const { reward, completionTokens, reason: problem } = agents[agent]!;
    if (completionTokens !== undefined) tokens = (tokens ?? 0) + completionTokens;
    reason ??= problem;
    if (agents[agent]!.reasoningOnly !== undefined) reasoningOnly = true;
    earned += reward ?? 0;
    count += 1;
    isScored &&= reward !== null;
  }
  reason ??= limit;
  // If an agent's action caused the failure, the episode is scored although it failed.
  isScored &&= entry.file !== "failures" && (status !== "failed" || count > 0);
  return {
    id,
    task: known.task,
    level: known.level,
    step: known.step,
    sampleIndex,
    outcome: outcomeOf(entry, isScored),
    status,
    reward: !isScored ? null : earned / Math.max(1, count),
    rewards: count > 1 ? rewardsOf(agents) : undefined,
    turns,
    tokens,
    reasoningOnly,
    durationMs,
    reason: reason?.slice(0, 200),
    file: known.file,
    offset,
    length,
  };
}

/** Returns the row of an evaluation's episode. `judges` is true if the run defines correctness. */
export function evaluationRow(
  entry: EpisodeEntry,
  of: { readonly judges: boolean; readonly task: EpisodeRow["task"]; readonly level?: string | undefined },
): IndexedRow {
  const { judges, task, level } = of;
  return indexedRow({ ...entry, correct: judges ? entry.correct : null }, { file: entry.file, task, level });
}

function rewardsOf(agents: TraceEntry["agents"]): Record<string, number | null> {
  const rewards: Record<string, number | null> = {};
  for (const agent in agents) if (agents[agent]!.actions > 0) rewards[agent] = agents[agent]!.reward;
  return rewards;
}

function outcomeOf({ status, correct = null }: Entry, isScored: boolean): EpisodeOutcome {
  if (status === "failed" && (!isScored || correct === null)) return "failed";
  if (!isScored) return "unscored";
  return correct === null ? "scored" : correct ? "correct" : "wrong";
}
