import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { checkTaskIndex } from "./task-entry.ts";

/** The number of tasks that are read at once. */
const batch = 256;

/**
 * Returns the tasks of a finite taskset for which `keep` is true, in order, with their ids and hashes. Reads the whole
 * taskset once, so a malformed row is found before any task is used. Keeps only the indices of the kept tasks in
 * memory.
 */
export async function filterTaskset<Task>(
  taskset: Taskset<Task> & { readonly length: number },
  keep: (task: Task) => boolean,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Taskset<Task> & { readonly length: number }> {
  const kept: number[] = [];
  for (let start = 0; start < taskset.length; start += batch) {
    const indices = Array.from({ length: Math.min(batch, taskset.length - start) }, (_, i) => start + i);
    const read = await Promise.all(indices.map((index) => taskset.get(index, options)));
    kept.push(...indices.filter((_, i) => keep(read[i]!.task)));
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
