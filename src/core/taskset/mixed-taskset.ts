import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { createRandom, deriveSeed } from "../random/random.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** A taskset of a mixture. */
export interface WeightedTaskset {
  readonly name: string;
  /** Above 0; its share is in proportion. */
  readonly weight: number;
  readonly taskset: Taskset;
}

/** Which part a position belongs to, and how many positions before it do. */
interface Place {
  readonly part: number;
  readonly rank: number;
}

/**
 * Tasksets interleaved by weight (smooth weighted round-robin: of the first n tasks each part has its share, give or
 * take one or two). It has no end: finite parts begin again, shuffled in each pass by the seed. `task` makes the
 * mixture's task of a part's; ids are the part's name, a slash and its own id. Throws `data.out-of-range` for an empty part.
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

/** The place of each position; those that were asked for are kept. */
function interleave(weights: readonly number[]): (position: number) => Place {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
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

/** From a rank to an index: each pass over `length` tasks in an order of its own. */
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
