import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** A taskset of tasks that are already in memory. The list is copied; each task is hashed when first asked for. */
export function memoryTaskset<Task>(name: string, tasks: readonly Task[]): Taskset<Task> {
  const held = [...tasks];
  const entries: (TaskEntry<Task> | undefined)[] = new Array(held.length);
  const range = { name, length: held.length };
  return {
    ...range,
    get: async (index, options) => {
      options?.signal?.throwIfAborted();
      checkTaskIndex(range, index);
      const entry = entries[index] ?? taskEntry(held[index]!, index);
      entries[index] = entry;
      return entry;
    },
  };
}
