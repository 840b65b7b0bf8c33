import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** Returns a taskset of tasks in memory. The list is copied. Each task is hashed on its first use. */
export function memoryTaskset<Task>(name: string, tasks: readonly Task[]): Taskset<Task> {
  const copied = [...tasks];
  const entries: (TaskEntry<Task> | undefined)[] = new Array(copied.length);
  const range = { name, length: copied.length };
  return {
    specificationVersion: "v1",
    ...range,
    get: async (index, options) => {
      options?.signal?.throwIfAborted();
      checkTaskIndex(range, index);
      const entry = entries[index] ?? taskEntry(copied[index]!, index);
      entries[index] = entry;
      return entry;
    },
  };
}
