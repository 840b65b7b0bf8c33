import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import {
  type CheckedRun,
  checkBatchSize,
  checkDemonstrations,
  checkRun,
  evaluatedTaskCount,
} from "../trainers/training/check-run.ts";
import { createAlgorithm } from "../trainers/training/resolve-config.ts";
import type { LoadedRun } from "./check-run-config.ts";

/**
 * Checks the config of a run, or of a stage, against its environment, as the training does. Opens no model, policy or
 * program. Throws `config.invalid` or `config.unknown-name`.
 */
export function checkStage(
  { config, algorithms }: Pick<LoadedRun, "config" | "algorithms">,
  environment: EnvironmentDefinition,
): CheckedRun {
  const { policies, programs } = config.agents;
  const run = {
    config,
    algorithm: createAlgorithm(config, algorithms),
    environment,
    frozen: Object.keys(policies),
    programs: Object.keys(programs),
  };
  checkRun(run);
  // A module that is not loaded may have demonstrations.
  if (Object.values(programs).every(({ module }) => module === undefined)) checkDemonstrations(run, {});
  return run;
}

/**
 * Opens the tasks of a run, and checks that the environment has their splits and that a step and an evaluation fit into
 * memory. Throws `config.invalid`, and what the environment throws.
 */
export async function checkStageTasks(run: CheckedRun, options: { readonly signal: AbortSignal }): Promise<void> {
  const { config, environment } = run;
  const { split } = config.evaluation;
  checkBatchSize(await environment.tasks(config.tasks.split, options), run);
  if (split !== undefined) evaluatedTaskCount(await environment.tasks(split, options), config);
}
