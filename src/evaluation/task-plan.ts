import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import { isSystemError, writeFailed } from "../contract/errors/write-failed.ts";
import type { Json } from "../contract/json.ts";
import type { Taskset } from "../contract/taskset.ts";
import { taskGroup } from "../core/environment/task-group.ts";
import { makeFolder } from "../core/files/make-folder.ts";
import { taskSeed } from "../core/rollout/episode-seeds.ts";
import { contentHash } from "../core/taskset/content-hash.ts";
import type { TaskLine } from "./log/manifest.ts";
import { type RunFolder, runFolder } from "./log/run-folder.ts";

/** A task of a run without its content, to save memory. */
export type PlannedLine = Omit<TaskLine, "task">;

/** The tasks of a run, in order. */
export interface TaskPlan {
  readonly tasks: readonly PlannedLine[];
  /** The SHA-256 of the hashes of all tasks, in order. */
  readonly hash: string;
}

/** Reads the first `count` tasks and writes them to `tasks.jsonl` of the run folder. The write is atomic. */
export async function planTasks<Task>(options: {
  readonly folder: string;
  readonly environment: Pick<EnvironmentDefinition, "spec" | "groupOf">;
  readonly taskset: Taskset<Task>;
  readonly count: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
}): Promise<TaskPlan> {
  const files = runFolder(options.folder);
  const tasks: PlannedLine[] = [];
  await makeFolder(files.path);
  await writeLines(files, taskLines(options, tasks));
  return { tasks, hash: contentHash(tasks.map(({ hash }) => hash)) };
}

async function* taskLines<Task>(
  options: Omit<Parameters<typeof planTasks<Task>>[0], "folder">,
  tasks: PlannedLine[],
): AsyncGenerator<string, void, undefined> {
  const { environment, taskset, count, seed, signal } = options;
  const seen = new Map<string, number>();
  for (let index = 0; index < count; index++) {
    const { id, hash, task } = await taskset.get(index, { signal });
    const times = seen.get(hash) ?? 0;
    seen.set(hash, times + 1);
    const level = taskGroup(environment, task);
    const line = { index, id, hash, seed: taskSeed(seed, times), level };
    tasks.push(line);
    yield `${JSON.stringify({ ...line, task: task as Json } satisfies TaskLine)}\n`;
  }
}

async function writeLines(files: RunFolder, lines: AsyncIterable<string>): Promise<void> {
  const temporary = `${files.tasks}.tmp`;
  try {
    // An error of the taskset is not a failed write.
    await pipeline(Readable.from(lines), createWriteStream(temporary, { flush: true }));
    await rename(temporary, files.tasks);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw isSystemError(cause) ? writeFailed({ path: files.tasks, cause }) : cause;
  }
}
