import type { EnvironmentDefinition } from "../environment/environment.ts";
import { LyceumError } from "../errors/index.ts";
import type { RunConfig } from "./run-config.ts";

/**
 * The training steps in which every task of `tasks.split` is played `epochs` times, rounded up. Throws `config.invalid`
 * for tasks without end, and what reading the tasks throws.
 */
export async function epochSteps(options: {
  readonly epochs: number;
  readonly environment: EnvironmentDefinition;
  readonly config: Pick<RunConfig, "tasks" | "training">;
  readonly signal: AbortSignal;
}): Promise<number> {
  const { epochs, environment, config, signal } = options;
  const { split } = config.tasks;
  const { length } = await environment.tasks(split, { signal });
  if (length === "unbounded") {
    throw new LyceumError({
      code: "config.invalid",
      message: `--num-epochs ${epochs} counts passes over the tasks, and ${split} of "${environment.spec.id}" has no end.`,
      hint: `Say how many steps instead: --set training.steps=100. Or take a part of the tasks: --set 'tasks.split=${split}[:1000]'.`,
      data: { split, epochs },
    });
  }
  return Math.ceil((epochs * length) / config.training.batchSize);
}
