import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import type { Episode } from "../contract/episode.ts";
import { type ErrorData, LyceumError } from "../contract/errors/index.ts";
import { writeFailed } from "../contract/errors/write-failed.ts";
import { replaceFile } from "../core/files/replace-file.ts";
import { lockRun } from "../core/files/run-lock.ts";
import { episodeId } from "../core/rollout/episode-id.ts";
import { dataFileError } from "../core/taskset/data-file-error.ts";
import { evaluatedAgents } from "./evaluated-agents.ts";
import type { EpisodeLoggedEvent, EvaluationEvent } from "./evaluation-event.ts";
import type { EpisodeEntry } from "./log/episode-entry.ts";
import { openLogWriter } from "./log/log-writer.ts";
import type { EvaluationManifest, TaskLine } from "./log/manifest.ts";
import { readEntries, readEpisode, readTaskLines } from "./log/read-log.ts";
import { runFolder } from "./log/run-folder.ts";
import { isOfKey, refusesAll } from "./refuses-all.ts";
import { summarize } from "./summarize.ts";
import type { PlannedLine } from "./task-plan.ts";

/** Scores the recorded episodes of one task again. Returns the same episodes with new rewards, or failed episodes. */
export type Grader = (
  episodes: readonly Episode[],
  options: { readonly task: TaskLine; readonly signal: AbortSignal | undefined },
) => Promise<readonly Episode[]>;

/**
 * Scores all episodes of an evaluation again and writes them to another folder. Generates nothing. `manifest` is the
 * manifest of the new run. Throws `config.invalid` if the folder already has a run or another process writes it. Throws
 * `policy.unauthorized` if a server rejects the API key of a judge, and `policy.rejected` if it rejects the judge's
 * configuration.
 */
export async function* rescore(options: {
  readonly from: string;
  readonly folder: string;
  readonly manifest: EvaluationManifest;
  readonly grade: Grader;
  /** The maximum number of concurrent tasks. 16 by default. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
}): AsyncGenerator<EvaluationEvent, void, undefined> {
  const { from, folder, manifest, concurrency = 16, signal } = options;
  const begun = performance.now();
  const files = runFolder(folder);
  await using _lock = await lockRun(folder);
  refuseRun(files.manifest, folder);
  const recorded = await readEntries(from);
  const tasksOf = runFolder(from).tasks;
  await copyFile(tasksOf, files.tasks).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === "ENOENT" ? dataFileError(tasksOf, cause) : writeFailed({ path: files.tasks, cause });
  });
  await replaceFile(files.manifest, `${JSON.stringify(manifest, undefined, 2)}\n`);
  const logged: EpisodeLoggedEvent[] = [];
  const tasks: PlannedLine[] = [];
  {
    await using log = await openLogWriter({
      folder,
      correct: manifest.correct,
      evaluated: evaluatedAgents(manifest),
      onEntry: (entry, episode) => void logged.push({ type: "episode", entry, episode }),
    });
    yield { type: "start", folder, manifest, played: [] };
    const running = new Set<Promise<void>>();
    try {
      for await (const task of readTaskLines(from)) {
        const { task: _, ...line } = task;
        tasks.push(line);
        const sampleIndices = Array.from({ length: manifest.samples }, (_unused, sampleIndex) =>
          episodeId({ ...line, sampleIndex }),
        );
        const entries = sampleIndices.flatMap((id) => recorded.get(id) ?? []);
        const graded = gradeTask(entries, { ...options, task, write: (episode) => log.write(episode) }).finally(() =>
          running.delete(graded),
        );
        running.add(graded);
        if (running.size >= concurrency) await Promise.race(running);
        signal?.throwIfAborted();
        yield* logged.splice(0);
      }
      await Promise.all(running);
    } finally {
      // If one task throws, the others must end before the log is closed.
      await Promise.allSettled(running);
    }
    await log.close();
    yield* logged.splice(0);
  }
  const { startedAt } = manifest;
  const time = { startedAt, endedAt: new Date().toISOString(), elapsedMs: Math.round(performance.now() - begun) };
  const summary = summarize({ manifest, tasks, entries: await readEntries(folder), time });
  await replaceFile(files.summary, `${JSON.stringify(summary, undefined, 2)}\n`);
  yield { type: "end", summary };
}

async function gradeTask(
  entries: readonly EpisodeEntry[],
  options: {
    readonly from: string;
    readonly task: TaskLine;
    readonly grade: Grader;
    readonly write: (episode: Episode) => Promise<void>;
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const { from, task, grade, write, signal } = options;
  if (entries.length === 0) return;
  const episodes = await Promise.all(entries.map((entry) => readEpisode(from, entry)));
  for (const episode of await grade(episodes, { task, signal })) {
    await write(episode);
    // Unchanged episodes can have recorded errors of an earlier key.
    const refused = episodes.includes(episode) ? undefined : refusesAll(episode);
    if (refused !== undefined) throw refusedRun(refused);
  }
}

function refusedRun(refused: ErrorData): LyceumError {
  const { code, message, hint = "" } = refused;
  const remedy = isOfKey(refused) ? "Correct the judge's key or the account." : hint;
  return new LyceumError({
    code,
    message,
    hint: `No further episodes were scored. ${remedy} Then score again into another folder.`,
  });
}

function refuseRun(path: string, folder: string): void {
  if (!existsSync(path)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `There is an evaluation in ${folder} already.`,
    hint: "Name another folder.",
    data: { folder },
  });
}
