import { unknownNameError } from "../errors/index.ts";
import { memoryTaskset } from "../taskset/memory-taskset.ts";
import { sliceTaskset } from "../taskset/slice-taskset.ts";
import { parseSplit } from "../taskset/split.ts";
import type { Taskset } from "../taskset/taskset.ts";
import type { EnvironmentDefinition } from "./environment.ts";

/** Tasks as an author has them: a list or a taskset, or a function from the name of a split to either. */
export type TaskSource<Task> =
  | SplitSource<Task>
  | ((split: string, options: { readonly signal?: AbortSignal }) => SplitSource<Task> | Promise<SplitSource<Task>>);

type SplitSource<Task> = readonly Task[] | Taskset<Task>;

/** The splits of a definition and how to load one. Splits that do not exist throw `data.out-of-range`. */
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
      const tasks = typeof source === "function" ? await source(name, loading) : source;
      const taskset = isTaskset(tasks) ? tasks : memoryTaskset(`${id}/${name}`, tasks);
      return slice === undefined ? taskset : sliceTaskset(taskset, slice);
    },
  };
}

function isTaskset<Task>(source: SplitSource<Task>): source is Taskset<Task> {
  return !Array.isArray(source);
}
