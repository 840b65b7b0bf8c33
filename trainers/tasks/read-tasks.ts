import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { splitTasks } from "../../src/core/environment/checked-environment.ts";
import { filterTaskset } from "../../src/core/taskset/filter-taskset.ts";

/** A taskset whose rows are read, and a note about the rows that were left out. */
export interface ReadTasks {
  readonly tasks: Taskset;
  readonly note?: string;
}

/**
 * Loads a split and reads each of its tasks once, so that a malformed row ends the run before step 1. With `drop`, such
 * rows are left out. The tasks of an unbounded taskset are read when they are taken.
 */
export async function readTasks(
  environment: EnvironmentDefinition,
  split: string,
  options: { readonly invalid: "error" | "drop"; readonly signal: AbortSignal | undefined },
): Promise<ReadTasks> {
  const { invalid, signal } = options;
  const dropped: LyceumError[] = [];
  const onInvalid = invalid === "drop" ? (error: LyceumError): unknown => dropped.push(error) : undefined;
  const tasks = await splitTasks(environment, split, { signal, onInvalid });
  if (!hasEnd(tasks)) return { tasks };
  const valid = await filterTaskset(tasks, () => true, { signal, onInvalid });
  if (dropped.length === 0) return { tasks };
  const rows = dropped.length === 1 ? "1 malformed row" : `${dropped.length} malformed rows`;
  const note = `${rows} of ${tasks.name} left out (data.invalid is drop). The first: ${dropped[0]!.message}`;
  return { tasks: valid.length === tasks.length ? tasks : valid, note };
}

function hasEnd(tasks: Taskset): tasks is Taskset & { readonly length: number } {
  return tasks.length !== "unbounded";
}
