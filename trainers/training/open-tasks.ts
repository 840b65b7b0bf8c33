import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { checkDisjoint } from "../../src/core/taskset/disjoint.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { firstTasks } from "../tasks/first-tasks.ts";
import { readTasks } from "../tasks/read-tasks.ts";
import { evaluatedTaskCount } from "./check-run.ts";

/** The tasks of a run. */
export interface OpenedTasks {
  /** The tasks of training. */
  readonly tasks: Taskset;
  /** The tasks of evaluations. */
  readonly heldOut: readonly TaskEntry[];
  /** Notes on rows that were left out. */
  readonly dropped: readonly string[];
}

/**
 * Opens the tasks of a run. Throws the environment's errors, `config.invalid` if the episodes of an evaluation do not fit
 * into memory, and `data.malformed` if training and evaluation share tasks.
 */
export async function openTasks(options: {
  readonly config: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  readonly signal: AbortSignal | undefined;
}): Promise<OpenedTasks> {
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
