import { byGroup, otherGroups } from "../../src/core/task-groups.ts";
import { fileSize } from "../../src/core/trace/file-size.ts";
import { readEpisodeAt } from "../../src/core/trace/read-episode.ts";
import { evaluationStatus } from "../../src/evaluation/evaluation-status.ts";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../src/evaluation/log/run-folder.ts";
import type { EvaluationSummary, Metric } from "../../src/evaluation/log/summary.ts";
import { type EpisodeIndex, readingOf } from "./episode-index.ts";
import type { EpisodeRow } from "./episode-row.ts";
import { changedMs, unfinishedStatus } from "./run-status.ts";
import type { EvaluationView, RunStatus } from "./view-source.ts";

/**
 * Returns an evaluation and its figures. If it is running or was killed, the figures so far. `index` must be up to
 * date.
 */
export async function evaluationView(options: {
  readonly path: string;
  readonly folder: string;
  readonly index: EpisodeIndex;
}): Promise<EvaluationView> {
  const { path, folder, index } = options;
  const manifest = await readManifest(folder);
  const summary = await currentSummary(folder);
  const status = summary === undefined ? await statusSoFar(folder) : evaluationStatus(summary.counts);
  const counts = countRows(index.rows);
  const groups = byGroup([...index.tasks.values()], ({ level }) => level);
  return {
    kind: "evaluation",
    path,
    status,
    manifest,
    ...(summary === undefined ? {} : { summary: withoutTasks(summary) }),
    ...(status === "failed" ? await firstError(index) : {}),
    counts,
    metrics: summary?.metrics ?? metricsSoFar(index.rows, counts),
    levels: [...groups.keys()].filter((name) => name !== otherGroups),
    agents: [...index.agents],
    ...readingOf(index),
  };
}

/** A resumed run writes to its index long after the summary. In a copied folder, both have the same time. */
export const resumedAfterMs = 10_000;

/** Returns the summary. Undefined if there is none, or if an unfinished run has continued since. */
async function currentSummary(folder: string): Promise<EvaluationSummary | undefined> {
  const files = runFolder(folder);
  if ((await fileSize(files.summary)) === 0) return undefined;
  const summary = await readSummary(folder);
  const wentOn = (await changedMs([files.index])) > (await changedMs([files.summary])) + resumedAfterMs;
  return evaluationStatus(summary.counts) !== "completed" && wentOn ? undefined : summary;
}

/** Returns the error of the first failed episode in the order of tasks. */
async function firstError({ rows, paths }: EpisodeIndex): Promise<Pick<EvaluationView, "error">> {
  const failed = rows.filter(({ status }) => status === "failed");
  const first = failed.toSorted((a, b) => a.task.index - b.task.index || a.sampleIndex - b.sampleIndex)[0];
  if (first === undefined) return {};
  const { error } = await readEpisodeAt(paths[first.file]!, first);
  return error === undefined ? {} : { error };
}

/** Returns the status of an evaluation without a summary. */
async function statusSoFar(folder: string): Promise<RunStatus> {
  const { index, manifest } = runFolder(folder);
  return unfinishedStatus(folder, await changedMs([index, manifest]));
}

/** Counts episodes by outcome. */
export function countRows(rows: readonly EpisodeRow[]): EvaluationView["counts"] {
  const counts = { played: rows.length, scored: 0, unscored: 0, failed: 0, correct: 0, reasoningOnly: 0 };
  for (const { reward, outcome, status, reasoningOnly } of rows) {
    if (reward === null) counts.unscored += 1;
    else counts.scored += 1;
    if (status === "failed") counts.failed += 1;
    if (outcome === "correct") counts.correct += 1;
    if (reasoningOnly === true) counts.reasoningOnly += 1;
  }
  return counts;
}

/** Returns the figures of a running evaluation. */
export function metricsSoFar(rows: readonly EpisodeRow[], counts: EvaluationView["counts"]): Record<string, Metric> {
  const { scored, correct } = counts;
  if (scored === 0) return {};
  const tasks = new Set(rows.map(({ task }) => task.index)).size;
  const judged = rows.some(({ outcome }) => outcome === "correct" || outcome === "wrong");
  const reward = rows.reduce((sum, row) => sum + (row.reward ?? 0), 0) / scored;
  return {
    ...(judged ? { accuracy: { value: correct / scored, tasks } } : {}),
    reward: { value: reward, tasks },
  };
}

function withoutTasks({ tasks: _, ...summary }: EvaluationSummary): Omit<EvaluationSummary, "tasks"> {
  return summary;
}
