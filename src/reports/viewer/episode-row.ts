import type { Episode } from "../../contract/episode.ts";
import type { TraceEntry } from "../../core/trace/trace-entry.ts";
import type { EpisodeEntry } from "../../evaluation/log/episode-entry.ts";

/** How an episode counts. `scored`: it earned a reward, and nothing in its run counts as right or wrong. */
export type EpisodeOutcome = "correct" | "wrong" | "scored" | "unscored" | "failed";

/** An episode as a line of the table: little enough that a hundred thousand fit into memory. */
export interface EpisodeRow {
  readonly id: string;
  readonly task: { readonly index: number; readonly id: string };
  readonly level?: string | undefined;
  /** Of a training. Absent where the run does not tell, and while the step goes on. */
  readonly step?: number | undefined;
  readonly sampleIndex: number;
  readonly outcome: EpisodeOutcome;
  readonly status: Episode["status"];
  /** The mean over its agents; null where it is unscored. */
  readonly reward: number | null;
  /** Of several agents, what each earned that acted. */
  readonly rewards?: Readonly<Record<string, number | null>> | undefined;
  readonly turns: number;
  /** Tokens written, where the policy tells. */
  readonly tokens: number | null;
  readonly durationMs: number;
  /** Why it failed, is unscored, or was cut off. */
  readonly reason?: string | undefined;
}

/** A line of the table as it is shown. */
export interface ShownRow extends EpisodeRow {
  /** The beginning of the prompt, without what all prompts of the page begin with. Absent as `words` is. */
  readonly prompt?: string;
  /** The beginning of what was said last. Absent where episodes are too long to look into. */
  readonly words?: string;
}

/** A line with its texts, of which empty ones are left out. */
export function shownRow(row: EpisodeRow, { prompt, words }: { prompt: string; words: string }): ShownRow {
  return { ...row, ...(prompt === "" ? {} : { prompt }), ...(words === "" ? {} : { words }) };
}

/** The files that episodes are in: of an evaluation, or of a training. */
export type EpisodeFile = EpisodeEntry["file"] | "trace";

/** A line of the table, and where all of its episode is. */
export interface IndexedRow extends EpisodeRow {
  readonly file: EpisodeFile;
  readonly offset: number;
  readonly length: number;
}

/** An entry of an evaluation's log, or of a training's trace. */
type Entry = TraceEntry & Partial<Pick<EpisodeEntry, "file" | "correct">>;

/** The line of an episode in a table, with where the episode is. Made a hundred thousand times while a page waits. */
export function indexedRow(
  entry: Entry,
  known: Pick<IndexedRow, "file" | "task"> & Partial<Pick<IndexedRow, "level" | "step">>,
): IndexedRow {
  const { id, sampleIndex, status, turns, durationMs, error, limit, agents, offset, length } = entry;
  let tokens: number | null = null;
  let [earned, count, isScored] = [0, 0, true];
  let reason: string | undefined = error?.code;
  for (const agent in agents) {
    const { reward, completionTokens, reason: problem } = agents[agent]!;
    if (completionTokens !== undefined) tokens = (tokens ?? 0) + completionTokens;
    reason ??= problem;
    earned += reward ?? 0;
    count += 1;
    isScored &&= reward !== null;
  }
  reason ??= limit;
  // An agent whose action made the environment fail is scored, though the episode failed.
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
    durationMs,
    reason: reason?.slice(0, 200),
    file: known.file,
    offset,
    length,
  };
}

/** The line of an evaluation's episode. Nothing is right or wrong if the run does not judge (`judges`). */
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
