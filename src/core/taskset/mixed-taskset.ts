import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { createRandom, deriveSeed } from "../random/random.ts";
import { sum } from "../statistics.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** One part of a mixture. */
export interface WeightedTaskset {
  readonly name: string;
  /** The weight, above 0. The share of the part is proportional to it. */
  readonly weight: number;
  readonly taskset: Taskset;
}

/** The part that a position belongs to, and the number of earlier positions of that part. */
interface Place {
  readonly part: number;
  readonly rank: number;
}

/**
 * Interleaves tasksets by weight (smooth weighted round-robin: among the first n tasks, the share of each part is exact
 * within one or two tasks). The result is infinite: a finite part starts again after its end, and the seed shuffles
 * each pass. `task` converts a task of a part to a task of the mixture. An id is the name of the part, a slash and the
 * part's own id. Throws `data.out-of-range` for an empty part.
 */
export function mixedTaskset<Task>(
  name: string,
  options: {
    readonly parts: readonly WeightedTaskset[];
    readonly task: (part: string, task: unknown) => Task;
    readonly seed: number;
  },
): Taskset<Task> {
  const { parts, task, seed } = options;
  const empty = parts.find(({ taskset }) => taskset.length === 0);
  if (empty !== undefined) {
    throw new LyceumError({
      code: "data.out-of-range",
      message: `${empty.taskset.name} has no tasks to mix with others.`,
      hint: "Choose another split, or leave the environment out.",
    });
  }
  const places = interleave(parts.map(({ weight }) => weight));
  const indexOf = parts.map(({ taskset }, part) =>
    taskset.length === "unbounded" ? same : passShuffle(taskset.length, deriveSeed(seed, "mixture", part)),
  );
  const range = { name, length: "unbounded" as const };
  return {
    specificationVersion: "v1",
    ...range,
    get: async (index, getOptions) => {
      checkTaskIndex(range, index);
      const { part, rank } = places(index);
      const { name: owner, taskset } = parts[part]!;
      const entry = await taskset.get(indexOf[part]!(rank), getOptions);
      return { ...taskEntry(task(owner, entry.task), index), id: `${owner}/${entry.id}` };
    },
  };
}

/** Returns a function from a position to its place. It keeps the places that were computed. */
function interleave(weights: readonly number[]): (position: number) => Place {
  const total = sum(weights);
  const credits = weights.map(() => 0);
  const counts = weights.map(() => 0);
  const parts: number[] = [];
  const ranks: number[] = [];
  return (position) => {
    while (parts.length <= position) {
      for (const [part, weight] of weights.entries()) credits[part]! += weight / total;
      const part = credits.indexOf(Math.max(...credits));
      credits[part]! -= 1;
      parts.push(part);
      ranks.push(counts[part]!++);
    }
    return { part: parts[position]!, rank: ranks[position]! };
  };
}

/** Returns a function from a rank to an index. Each pass over `length` tasks has its own random order. */
function passShuffle(length: number, seed: number): (rank: number) => number {
  let pass: { readonly number: number; readonly order: readonly number[] } | undefined;
  return (rank) => {
    const number = Math.floor(rank / length);
    if (pass?.number !== number) {
      const indices = Array.from({ length }, (_, index) => index);
      pass = { number, order: createRandom(deriveSeed(seed, number)).shuffle(indices) };
    }
    return pass.order[rank % length]!;
  };
}

function same(rank: number): number {
  return rank;
}
