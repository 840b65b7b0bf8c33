import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { type CheckedRun, checkDemonstrations, checkRun } from "../trainers/training/check-run.ts";
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
  // A program that is not loaded may have demonstrations.
  if (run.programs.length === 0) checkDemonstrations(run, {});
  return run;
}
