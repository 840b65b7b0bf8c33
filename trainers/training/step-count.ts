import { invalidConfig, type LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import type { TrainingConfig } from "../config/training-config.ts";

/**
 * Returns the number of training steps: `steps` of the config, or those of its epochs. An epoch plays each task once.
 * The last batch of an epoch has the remaining tasks. For epochs, throws `config.invalid` for an unbounded taskset.
 * Also throws if a step does not play a fixed number of tasks, as with a curriculum or with an algorithm that replaces
 * groups without a signal.
 */
export function trainingSteps(options: {
  readonly tasks: Pick<Taskset, "name" | "length">;
  readonly config: Pick<TrainingConfig, "tasks" | "training">;
  /** The algorithm's `resampleRounds`. */
  readonly resampleRounds: number;
}): number {
  const { tasks, config, resampleRounds } = options;
  const { split, curriculum } = config.tasks;
  const { steps = 0, epochs, batchSize } = config.training;
  if (epochs === undefined) return steps;
  const refuse = (why: string, how: string): LyceumError =>
    invalidConfig(
      `training.epochs is ${epochs}, but ${why}.`,
      `Give training.steps instead of training.epochs. ${how}`,
      { epochs, split },
    );
  if (tasks.length === "unbounded") {
    throw refuse(`the taskset ${tasks.name} is unbounded`, `Or use a part of it: tasks.split: "${split}[:1000]".`);
  }
  if (curriculum !== undefined) {
    throw refuse("a curriculum plays easy tasks more often than hard ones", "Or remove tasks.curriculum.");
  }
  if (resampleRounds > 0) {
    const why = "the algorithm replaces groups without a signal, so the number of tasks per step is not fixed";
    throw refuse(why, "Or set algorithm.resampleRounds to 0.");
  }
  return epochs * Math.ceil(tasks.length / batchSize);
}

/** Returns the number of evaluations of a run: before the first step, each `every` steps, and after the last one. */
export function evaluationCount(steps: number, every: number): number {
  const during = every === 0 ? 0 : Math.floor(steps / every);
  return 1 + during + (every === 0 || steps % every !== 0 ? 1 : 0);
}
