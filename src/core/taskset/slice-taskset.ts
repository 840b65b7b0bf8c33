import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { formatSplit, type SplitBound, type SplitSlice } from "./split.ts";
import { checkTaskIndex } from "./task-entry.ts";

/**
 * Returns a slice of a taskset. Indices start at 0 again. Ids and hashes are kept. As in Hugging Face datasets, bounds
 * outside the taskset are clipped, and percentages are rounded to the nearest task (halves to even). Throws
 * `data.out-of-range` if the slice is empty, or if it needs the end of an unbounded taskset.
 */
export function sliceTaskset<Task>(taskset: Taskset<Task>, slice: SplitSlice): Taskset<Task> {
  const name = formatSplit({ name: taskset.name, slice });
  const start = slice.from === undefined ? 0 : position(slice.from, taskset, name);
  const end = slice.to === undefined ? taskset.length : position(slice.to, taskset, name);
  if (end !== "unbounded" && end <= start) {
    throw new LyceumError({
      code: "data.out-of-range",
      message: `The slice ${name} has no tasks: it goes from ${start} to ${end} of ${taskset.length}.`,
      hint: "The first bound is included, the second is not, and negative bounds count from the end.",
      data: { start, end, length: taskset.length },
    });
  }
  const range = { name, length: end === "unbounded" ? end : end - start };
  return {
    specificationVersion: "v1",
    ...range,
    get: async (index, options) => {
      checkTaskIndex(range, index);
      return { ...(await taskset.get(start + index, options)), index };
    },
  };
}

function position(bound: SplitBound, taskset: Pick<Taskset, "length">, name: string): number {
  const { length } = taskset;
  if (length === "unbounded") {
    if (bound.unit === "tasks" && bound.value >= 0) return bound.value;
    throw new LyceumError({
      code: "data.out-of-range",
      message: `The slice ${name} counts from the end or in percent, but the taskset is infinite.`,
      hint: "Use positive whole numbers, such as train[:200].",
    });
  }
  const count = bound.unit === "tasks" ? bound.value : roundHalfToEven((bound.value * length) / 100);
  return Math.min(length, Math.max(0, bound.value < 0 ? length + count : count));
}

function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  return value - below === 0.5 ? below + (below % 2) : Math.round(value);
}
