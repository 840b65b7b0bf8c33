import { LyceumError } from "../../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { contentHash } from "./content-hash.ts";

/** The entry of a task: its id is the data's own `id` or `task_id` where it has one, else the index. */
export function taskEntry<Task>(task: Task, index: number): TaskEntry<Task> {
  return { index, id: ownId(task) ?? String(index), hash: contentHash(task), task };
}

/** Throws `data.out-of-range` unless `index` is a whole number from 0 to below the taskset's length. */
export function checkTaskIndex(taskset: Pick<Taskset, "name" | "length">, index: number): void {
  const { name, length } = taskset;
  if (Number.isSafeInteger(index) && index >= 0 && (length === "unbounded" || index < length)) return;
  throw new LyceumError({
    code: "data.out-of-range",
    message: `There is no task ${index} in "${name}", which holds ${length === "unbounded" ? "tasks without end" : `${length} tasks`}.`,
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
