import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { TimeSlice } from "../../src/core/rollout/time-slice.ts";

/**
 * Returns the first tasks of a taskset, those of an evaluation. A mixture repeats its shorter parts: each of its tasks is
 * returned once.
 */
export async function firstTasks<Task>(
  taskset: Taskset<Task>,
  options: { readonly count: number; readonly isMixture: boolean; readonly signal: AbortSignal | undefined },
): Promise<TaskEntry<Task>[]> {
  const { count, isMixture, signal } = options;
  const entries: TaskEntry<Task>[] = [];
  const seen = new Set<string>();
  const slice = new TimeSlice();
  for (let index = 0; index < count; index++) {
    await slice.pause();
    signal?.throwIfAborted();
    const entry = await taskset.get(index, { signal });
    if (!isMixture || !seen.has(entry.hash)) entries.push(entry);
    seen.add(entry.hash);
  }
  return entries;
}
