import { LyceumError } from "../src/contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../src/contract/taskset.ts";
import { createRandom, deriveSeed } from "../src/core/random/random.ts";
import { TimeSlice } from "../src/core/rollout/time-slice.ts";

/** Hands out a taskset's tasks: shuffled anew in each pass over a finite one, in order of an unbounded one. */
export interface TaskOrder<Task = unknown> {
  /** How many tasks have been handed out. Set at the start to go on from there. */
  readonly cursor: number;
  /** How many tasks are left in the pass that has begun, the next one included; absent if there are no passes. */
  readonly leftInPass?: number;
  /** Under a curriculum, how many tasks the next one is drawn from. */
  readonly pool?: number;
  /** The next `count` tasks, which stay the next ones. */
  peek(count: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>[]>;
  /** The next `count` tasks. A batch may reach over the end of a pass. */
  take(count: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>[]>;
}

/** The order depends on the seed and the taskset's length alone. Throws `data.out-of-range` for an empty taskset. */
export function createTaskOrder<Task>(
  taskset: Taskset<Task>,
  options: { readonly seed: number; readonly cursor?: number },
): TaskOrder<Task> {
  const { length } = taskset;
  if (length === 0) {
    throw new LyceumError({
      code: "data.out-of-range",
      message: `There is nothing to train on: ${taskset.name} has no tasks.`,
      hint: "Choose another split or slice.",
    });
  }
  let cursor = options.cursor ?? 0;
  const indexAt = length === "unbounded" ? (position: number) => position : shuffledPasses(length, options.seed);

  const slice = new TimeSlice();
  const peek: TaskOrder<Task>["peek"] = async (count, options) => {
    const tasks: TaskEntry<Task>[] = [];
    for (let i = 0; i < count; i++) {
      await slice.pause();
      options?.signal?.throwIfAborted();
      tasks.push(await taskset.get(indexAt(cursor + i), options));
    }
    return tasks;
  };
  return {
    get cursor() {
      return cursor;
    },
    get leftInPass() {
      return length === "unbounded" ? Number.POSITIVE_INFINITY : length - (cursor % length);
    },
    peek,
    take: async (count, takeOptions) => {
      const tasks = await peek(count, takeOptions);
      cursor += count;
      return tasks;
    },
  };
}

/** From a position to an index: each pass over `length` of them in an order of its own, which the seed gives. */
export function shuffledPasses(length: number, seed: number): (position: number) => number {
  let pass: { readonly number: number; readonly order: readonly number[] } | undefined;
  return (position) => {
    const number = Math.floor(position / length);
    if (pass?.number !== number) {
      const indices = Array.from({ length }, (_, index) => index);
      pass = { number, order: createRandom(deriveSeed(seed, "task order", number)).shuffle(indices) };
    }
    return pass.order[position % length]!;
  };
}
