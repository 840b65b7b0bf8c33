import type { TaskLoading } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { checkTaskIndex } from "./task-entry.ts";

/** The number of tasks that are read at once. */
const batch = 256;

/**
 * Returns the tasks of a finite taskset for which `keep` is true, in order, with their ids and hashes. Reads the whole
 * taskset once, so a malformed row is found before any task is used. `onInvalid` leaves malformed rows out and gets the
 * error of each, in order. Keeps only the indices of the kept tasks in memory.
 */
export async function filterTaskset<Task>(
  taskset: Taskset<Task> & { readonly length: number },
  keep: (task: Task) => boolean,
  options: TaskLoading = {},
): Promise<Taskset<Task> & { readonly length: number }> {
  const kept: number[] = [];
  for (let start = 0; start < taskset.length; start += batch) {
    const indices = Array.from({ length: Math.min(batch, taskset.length - start) }, (_, i) => start + i);
    options.signal?.throwIfAborted();
    const read = await Promise.all(indices.map((index) => readTask(taskset, index, options)));
    for (const [i, result] of read.entries()) {
      if (result instanceof LyceumError) options.onInvalid?.(result);
      else if (keep(result.task)) kept.push(indices[i]!);
    }
  }
  return {
    specificationVersion: "v1",
    name: taskset.name,
    length: kept.length,
    get: async (index, getOptions): Promise<TaskEntry<Task>> => {
      checkTaskIndex({ name: taskset.name, length: kept.length }, index);
      return { ...(await taskset.get(kept[index]!, getOptions)), index };
    },
  };
}

/** Returns a task, or the error of a malformed row that is left out. */
async function readTask<Task>(
  taskset: Taskset<Task>,
  index: number,
  { signal, onInvalid }: TaskLoading,
): Promise<TaskEntry<Task> | LyceumError> {
  try {
    return await taskset.get(index, { signal });
  } catch (error) {
    if (onInvalid !== undefined && error instanceof LyceumError && error.code === "data.malformed") return error;
    throw error;
  }
}
