import { LyceumError } from "../src/contract/errors/index.ts";
import type { Taskset } from "../src/contract/taskset.ts";
import type { TrainingConfig } from "./config/training-config.ts";

/**
 * The training steps of so many epochs. An epoch plays each task once; the last batch of each has the tasks that are
 * left. Throws `config.invalid` for tasks without end, and if a step does not play a fixed number of tasks: under a
 * curriculum, and with an algorithm that plays further tasks for groups without a signal.
 */
export function epochSteps(options: {
  readonly epochs: number;
  readonly tasks: Pick<Taskset, "name" | "length">;
  readonly config: Pick<TrainingConfig, "tasks" | "training">;
  /** Of the algorithm. */
  readonly resampleRounds: number;
}): number {
  const { epochs, tasks, config, resampleRounds } = options;
  const { split, curriculum } = config.tasks;
  const refuse = (why: string, how: string): LyceumError =>
    new LyceumError({
      code: "config.invalid",
      message: `training.epochs is ${epochs}, and ${why}.`,
      hint: `Give training.steps instead of training.epochs. ${how}`,
      data: { epochs, split },
    });
  if (tasks.length === "unbounded") {
    throw refuse(`the tasks of ${tasks.name} have no end`, `Or take a part of them: tasks.split: "${split}[:1000]".`);
  }
  if (curriculum !== undefined) {
    throw refuse("a curriculum plays easy tasks more often than hard ones", "Or leave tasks.curriculum out.");
  }
  if (resampleRounds > 0) {
    const why = "the algorithm plays further tasks for groups without a signal, so that a step has no fixed number";
    throw refuse(why, "Or set algorithm.resampleRounds to 0.");
  }
  return epochs * Math.ceil(tasks.length / config.training.batchSize);
}
