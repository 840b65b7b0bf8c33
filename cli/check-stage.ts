import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { type CheckedRun, checkDemonstrations, checkRun } from "../trainers/training/check-run.ts";
import { createAlgorithm } from "../trainers/training/resolve-config.ts";
import type { LoadedRun } from "./check-run-config.ts";
import { type NamedAgents, readAgents } from "./run-agents.ts";

/** A run, or a stage, whose config fits its environment. */
export interface CheckedStage extends CheckedRun {
  readonly agents: NamedAgents;
}

/**
 * Checks the config of a run, or of a stage, against its environment, as the training does, and reads the agents that it
 * names. Opens no model. Throws `config.invalid`, `config.unknown-name`, and the errors of {@link readAgents}.
 */
export async function checkStage(
  { config, algorithms }: Pick<LoadedRun, "config" | "algorithms">,
  { environment, folder }: { readonly environment: EnvironmentDefinition; readonly folder: string },
): Promise<CheckedStage> {
  const { policies, programs } = config.agents;
  const run = {
    config,
    algorithm: createAlgorithm(config, algorithms),
    environment,
    frozen: Object.keys(policies),
    programs: Object.keys(programs),
  };
  checkRun(run);
  const agents = await readAgents(config, folder);
  checkDemonstrations(run, agents.programs);
  return { ...run, agents };
}
