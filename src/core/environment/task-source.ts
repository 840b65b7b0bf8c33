import { describeValue } from "../../contract/describe-value.ts";
import type { EnvironmentDefinition, TaskLoading } from "../../contract/environment.ts";
import { unknownNameError } from "../../contract/errors/index.ts";
import { checkVersion } from "../../contract/specification-version.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { memoryTaskset } from "../taskset/memory-taskset.ts";
import { sliceTaskset } from "../taskset/slice-taskset.ts";
import { parseSplit } from "../taskset/split.ts";
import { contractError, environmentFailure } from "./environment-error.ts";

/** The tasks of a definition: a list, a taskset, or a function that returns either for the name of a split. */
export type TaskSource<Task> =
  | SplitSource<Task>
  | ((split: string, options: TaskLoading) => SplitSource<Task> | Promise<SplitSource<Task>>);

type SplitSource<Task> = readonly Task[] | Taskset<Task>;

/**
 * Returns the splits of a definition and a function that loads one. It throws `data.out-of-range` for an unknown split.
 */
export function loadTasks<Task>(options: {
  readonly id: string;
  readonly source: TaskSource<Task>;
  readonly splits: readonly string[] | undefined;
}): Pick<EnvironmentDefinition<Task>, "splits" | "tasks"> {
  const { id, source } = options;
  const splits = options.splits ?? (typeof source === "function" ? ["train", "test"] : ["train"]);
  return {
    splits,
    tasks: async (text, loading = {}) => {
      loading.signal?.throwIfAborted();
      const { name, slice } = parseSplit(text);
      if (!splits.includes(name)) {
        throw unknownNameError({ kind: `split of "${id}"`, name, known: splits, code: "data.out-of-range" });
      }
      const tasks = typeof source === "function" ? await called(source, { id, name, loading }) : source;
      if (!isSource(tasks)) throw noTasks(id, { tasks, source });
      if (isTaskset(tasks)) checkVersion(`Taskset "${tasks.name}" of environment "${id}"`, tasks);
      const taskset = isTaskset(tasks) ? tasks : memoryTaskset(`${id}/${name}`, tasks);
      return slice === undefined ? taskset : sliceTaskset(taskset, slice);
    },
  };
}

/** Calls an author's function. The error for a throw names its place. */
async function called<Task>(
  source: Extract<TaskSource<Task>, (...given: never) => unknown>,
  { id, name, loading }: { readonly id: string; readonly name: string; readonly loading: TaskLoading },
): Promise<SplitSource<Task>> {
  try {
    return await source(name, loading);
  } catch (error) {
    // An abort is not an error of the author's function.
    loading.signal?.throwIfAborted();
    throw environmentFailure({ environment: id, call: "tasks", error, by: source });
  }
}

function isSource(tasks: unknown): boolean {
  if (typeof tasks !== "object" || tasks === null) return false;
  return Array.isArray(tasks) || ("get" in tasks && typeof tasks.get === "function" && "length" in tasks);
}

function noTasks(environment: string, { tasks, source }: { readonly tasks: unknown; readonly source: unknown }): Error {
  return contractError({
    environment,
    problem: `has ${describeValue(tasks)} as tasks`,
    rule: "tasks is a list, a taskset, or a function that returns one. Collect what a generator yields into a list first; generatedTaskset creates infinite tasksets.",
    ...(typeof source === "function" ? { by: source } : {}),
  });
}

function isTaskset<Task>(source: SplitSource<Task>): source is Taskset<Task> {
  return !Array.isArray(source);
}
