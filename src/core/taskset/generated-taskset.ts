import { LyceumError } from "../../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { createRandom, deriveSeed, type Random } from "../random/random.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** The options of {@link generatedTaskset}. */
export interface GeneratedTasksetOptions<Task> {
  readonly name: string;
  /** The seed. Task `index` uses the seed `deriveSeed(seed, index, draw)`. `draw` counts rejected tasks from 0. */
  readonly seed: number;
  readonly length: number | "unbounded";
  /** Creates a task. It must be a pure function of its arguments. */
  readonly generate: (random: Random, index: number) => Task;
  /** A task is generated again until this returns true. Use it to select one split of a larger set of tasks. */
  readonly accept?: (entry: TaskEntry<Task>) => boolean;
  /**
   * True if no two tasks may have the same hash. Tasks are then generated in order (a first `get(1000)` generates a
   * thousand), and all hashes are kept in memory.
   */
  readonly distinct?: boolean;
}

/** The number of rejected tasks in a row after which the generator counts as exhausted. */
const maximumDraws = 10_000;

/**
 * Creates a taskset from a seeded generator. Tasks are generated on request. `get` throws `data.out-of-range` if 10,000
 * tasks in a row were rejected (by `accept`, or as duplicates with `distinct`).
 *
 * @example
 * import { generatedTaskset } from "lyceum";
 * const sums = generatedTaskset({
 *   name: "sums",
 *   seed: 1,
 *   length: 100,
 *   generate: (random) => ({ a: random.integer(1, 9), b: random.integer(1, 9) }),
 * });
 * (await sums.get(5)).task.a <= 9; // => true
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
    specificationVersion: "v1",
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
