import { LyceumError } from "../../src/contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { TimeSlice } from "../../src/core/rollout/time-slice.ts";

/**
 * The order in which a taskset's tasks are played. A finite taskset is reshuffled in each pass. An unbounded one is
 * played in order.
 */
export interface TaskOrder<Task = unknown> {
  /** The number of tasks that were taken so far. A resumed run starts with the cursor of its checkpoint. */
  readonly cursor: number;
  /** The number of tasks left in the current pass, including the next one. Absent if there are no passes. */
  readonly leftInPass?: number;
  /** With a curriculum: the number of tasks from which the next one is drawn. */
  readonly pool?: number;
  /** Returns the next `count` tasks without taking them. */
  peek(count: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>[]>;
  /** Takes the next `count` tasks. They may extend into the next pass. */
  take(count: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>[]>;
}

/**
 * Creates a task order. It depends only on the seed and the taskset's length. Throws `data.out-of-range` if the taskset
 * is empty.
 */
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
  const indexAt = length === "unbounded" ? (position: number) => position : shuffledPasses(length, options.seed);
  return orderedTasks(taskset, {
    indexAt,
    cursor: options.cursor,
    leftInPass: (cursor) => (length === "unbounded" ? Number.POSITIVE_INFINITY : length - (cursor % length)),
  });
}

/** Returns the tasks of a taskset in the order of `indexAt`, which maps a position to a task index. */
export function orderedTasks<Task>(
  taskset: Taskset<Task>,
  options: {
    readonly indexAt: (position: number) => number;
    readonly cursor?: number | undefined;
    readonly leftInPass?: (cursor: number) => number;
    readonly pool?: (cursor: number) => number;
  },
): TaskOrder<Task> {
  let cursor = options.cursor ?? 0;
  const slice = new TimeSlice();
  const peek: TaskOrder<Task>["peek"] = async (count, peekOptions) => {
    const tasks: TaskEntry<Task>[] = [];
    for (let i = 0; i < count; i++) {
      await slice.pause();
      peekOptions?.signal?.throwIfAborted();
      tasks.push(await taskset.get(options.indexAt(cursor + i), peekOptions));
    }
    return tasks;
  };
  return {
    get cursor() {
      return cursor;
    },
    get leftInPass() {
      return options.leftInPass?.(cursor);
    },
    get pool() {
      return options.pool?.(cursor);
    },
    peek,
    take: async (count, takeOptions) => {
      const tasks = await peek(count, takeOptions);
      cursor += count;
      return tasks;
    },
  };
}

/**
 * Returns a function from a position to a task index. Each pass over `length` tasks has its own order, which depends on
 * the seed.
 */
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
