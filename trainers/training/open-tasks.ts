import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { checkDisjoint } from "../../src/core/taskset/disjoint.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { createCurriculum } from "../tasks/curriculum.ts";
import { firstTasks } from "../tasks/first-tasks.ts";
import { readTasks } from "../tasks/read-tasks.ts";
import { createTaskOrder, type TaskOrder } from "../tasks/task-order.ts";
import { type CheckedRun, checkBatchSize, evaluatedTaskCount } from "./check-run.ts";
import { trainingSteps } from "./step-count.ts";

/** The tasks of a run. */
export interface OpenedTasks {
  /** The tasks of training. */
  readonly tasks: Taskset;
  /** The tasks of evaluations. */
  readonly heldOut: readonly TaskEntry[];
  /** Notes on rows that were left out. */
  readonly dropped: readonly string[];
  /** The order in which training takes its tasks. */
  readonly order: TaskOrder;
  /** The number of training steps. */
  readonly steps: number;
}

/**
 * Opens the tasks of a run. Throws the environment's errors, and
 *
 * - `data.out-of-range` for an empty split,
 * - `config.invalid` if the episodes of a step or of an evaluation do not fit into memory, or if epochs or a curriculum do
 *   not suit the tasks,
 * - `data.malformed` if training and evaluation share tasks, or if a curriculum cannot sort them.
 */
export async function openTasks(
  options: Omit<CheckedRun, "programs"> & {
    /** The position in the order, from a checkpoint. Default: the beginning. */
    readonly cursor?: number | undefined;
    readonly signal: AbortSignal | undefined;
  },
): Promise<OpenedTasks> {
  const { config, algorithm, environment, signal } = options;
  const { tasks, heldOut, dropped } = await readSplits(options);
  checkBatchSize(tasks, options);
  const steps = trainingSteps({ tasks, config, resampleRounds: algorithm.rollout.resampleRounds });
  const { curriculum } = config.tasks;
  const { batchSize } = config.training;
  const order = { seed: deriveSeed(config.seed, "tasks"), cursor: options.cursor };
  return {
    ...{ tasks, heldOut, dropped, steps },
    order:
      curriculum === undefined || tasks.length === 0
        ? createTaskOrder(tasks, order)
        : await createCurriculum(tasks, { ...curriculum, ...order, environment, batchSize, signal }),
  };
}

/** Opens the splits of training and evaluation, and checks that they share no task. */
async function readSplits(
  options: Parameters<typeof openTasks>[0],
): Promise<Pick<OpenedTasks, "tasks" | "heldOut" | "dropped">> {
  const { config, environment, signal } = options;
  const { invalid } = config.data;
  const { tasks, note } = await readTasks(environment, config.tasks.split, { invalid, signal });
  const dropped = note === undefined ? [] : [note];
  const { split } = config.evaluation;
  if (split === undefined) return { tasks, heldOut: [], dropped };
  const evaluated = await readTasks(environment, split, { invalid, signal });
  const taskset = evaluated.tasks;
  if (evaluated.note !== undefined) dropped.push(evaluated.note);
  const heldOut = await firstTasks(taskset, {
    count: evaluatedTaskCount(taskset, config),
    isMixture: environment.environmentOf !== undefined,
    signal,
  });
  // An unbounded taskset is read about as far as the run takes it. The tasks are checked again when they are taken.
  const sample = Math.min(10_000, Math.max(1_000, (config.training.steps ?? 0) * config.training.batchSize));
  const played = memoryTaskset(
    taskset.name,
    heldOut.map((entry) => entry.task),
  );
  await checkDisjoint(tasks, played, { sample, signal });
  return { tasks, heldOut, dropped };
}
