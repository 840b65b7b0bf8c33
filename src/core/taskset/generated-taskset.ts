import { LyceumError } from "../../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { createRandom, deriveSeed, type Random } from "../random/random.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** How {@link generatedTaskset} makes its tasks. */
export interface GeneratedTasksetOptions<Task> {
  readonly name: string;
  /** Task `index` is made from `deriveSeed(seed, index, draw)`, where `draw` is 0 unless tasks were refused. */
  readonly seed: number;
  readonly length: number | "unbounded";
  /** A pure function of the random numbers that it is given. */
  readonly generate: (random: Random, index: number) => Task;
  /** Draws a task again until this holds: the way to one split of a larger world. */
  readonly accept?: (entry: TaskEntry<Task>) => boolean;
  /**
   * No two tasks have the same hash. Tasks are then made in order (a first `get(1000)` makes a thousand), and the
   * hashes of all of them are kept.
   */
  readonly distinct?: boolean;
}

/** How often a task is drawn again before the generator is held to be exhausted. */
const maximumDraws = 10_000;

/**
 * Tasks from a seeded generator, made when asked for. `get` throws `data.out-of-range` when 10,000 draws in a row
 * gave no acceptable (or, with `distinct`, no new) task.
 */
export function generatedTaskset<Task>(options: GeneratedTasksetOptions<Task>): Taskset<Task> {
  const { name, length } = options;
  const taskOfDraw = (index: number, draw: number): TaskEntry<Task> =>
    taskEntry(options.generate(createRandom(deriveSeed(options.seed, index, draw)), index), index);

  const firstDraw = (index: number, isTaken: (hash: string) => boolean): { entry: TaskEntry<Task>; draw: number } => {
    for (let draw = 0; draw < maximumDraws; draw++) {
      const entry = taskOfDraw(index, draw);
      if (!isTaken(entry.hash) && options.accept?.(entry) !== false) return { entry, draw };
    }
    throw exhausted(name, index);
  };

  const draws: number[] = [];
  const hashes = new Set<string>();
  const distinctTask = (index: number): TaskEntry<Task> => {
    while (draws.length <= index) {
      const { entry, draw } = firstDraw(draws.length, (hash) => hashes.has(hash));
      draws.push(draw);
      hashes.add(entry.hash);
    }
    return taskOfDraw(index, draws[index]!);
  };

  return {
    name,
    length,
    get: async (index, getOptions) => {
      getOptions?.signal?.throwIfAborted();
      checkTaskIndex({ name, length }, index);
      return options.distinct === true ? distinctTask(index) : firstDraw(index, () => false).entry;
    },
  };
}

function exhausted(name: string, index: number): LyceumError {
  return new LyceumError({
    code: "data.out-of-range",
    message: `The generator of "${name}" gave no new task for index ${index} in ${maximumDraws} draws.`,
    hint: "Ask for fewer tasks, or widen what is generated (a higher difficulty, more digits, more operations).",
    data: { index },
  });
}
