import { LyceumError } from "../../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { contentHash } from "./content-hash.ts";

/** Creates the entry of a task. Its id is the data's own `id` or `task_id`, or else the index. */
export function taskEntry<Task>(task: Task, index: number): TaskEntry<Task> {
  return { index, id: ownId(task) ?? String(index), hash: contentHash(task), task };
}

/** Throws `data.out-of-range` unless `index` is a whole number from 0 to the taskset's length - 1. */
export function checkTaskIndex(taskset: Pick<Taskset, "name" | "length">, index: number): void {
  const { name, length } = taskset;
  if (Number.isSafeInteger(index) && index >= 0 && (length === "unbounded" || index < length)) return;
  throw new LyceumError({
    code: "data.out-of-range",
    message: `There is no task ${index} in "${name}", which has ${length === "unbounded" ? "infinitely many tasks" : `${length} tasks`}.`,
    hint:
      length === 0
        ? "The taskset is empty."
        : `Indices are whole numbers from 0${length === "unbounded" ? "" : ` to ${length - 1}`}.`,
    data: { index, length },
  });
}

function ownId(task: unknown): string | undefined {
  if (typeof task !== "object" || task === null) return undefined;
  const { id, task_id } = task as { readonly id?: unknown; readonly task_id?: unknown };
  for (const candidate of [id, task_id]) {
    if (typeof candidate === "string" || typeof candidate === "number") return String(candidate);
  }
  return undefined;
}
