import type { AgentId } from "../src/contract/action.ts";
import type { AgentProgram } from "../src/contract/agent-program.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { PolicySpecification } from "../src/core/policy/policy-specification.ts";
import type { TrainingConfig } from "../trainers/config/training-config.ts";
import type { TrainOptions } from "../trainers/run/training-run.ts";
import { loadProgram } from "./load-program.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { type PolicySettings, recordedPolicy, specifiedSettings } from "./policy-settings.ts";

/** The programs and frozen policies that a config names. Their modules are loaded, but no policy is open. */
export interface NamedAgents {
  readonly programs: Readonly<Record<AgentId, AgentProgram>>;
  readonly policies: Readonly<Record<AgentId, PolicySettings>>;
  /** The opponent of evaluations. */
  readonly opponent: PolicySettings | undefined;
}

/**
 * Reads the programs and frozen policies of a config. Paths of programs start from `folder`, that of the config. Throws
 * `config.invalid` and `data.not-found` for a module, a policy file or an option that is wrong.
 */
export async function readAgents(
  { agents, evaluation }: Pick<TrainingConfig, "agents" | "evaluation">,
  folder: string,
): Promise<NamedAgents> {
  const programs: Record<AgentId, AgentProgram> = {};
  for (const [agent, program] of Object.entries(agents.programs)) programs[agent] = await loadProgram(program, folder);
  const policies: Record<AgentId, PolicySettings> = {};
  for (const [agent, policy] of Object.entries(agents.policies)) {
    policies[agent] = await specifiedSettings(policy, `agents.policies.${agent}`);
  }
  const { opponent: named } = evaluation;
  const opponent = named === undefined ? undefined : await specifiedSettings(named, "evaluation.opponent");
  return { programs, policies, opponent };
}

/** Opens the frozen policies of a run. */
export async function openAgents(
  { agents, environment }: { readonly agents: NamedAgents; readonly environment: EnvironmentDefinition },
  opener: PolicyOpener,
): Promise<Pick<TrainOptions, "policies" | "programs" | "opponent" | "recorded">> {
  const { programs, opponent } = agents;
  const policies: Record<AgentId, Policy> = {};
  const recorded: Record<AgentId, PolicySpecification> = {};
  for (const [agent, settings] of Object.entries(agents.policies)) {
    policies[agent] = await opener.openSettings(settings, { environment, played: [agent] });
    recorded[agent] = recordedPolicy(settings);
  }
  if (opponent === undefined) return { programs, policies, recorded: { policies: recorded } };
  return {
    ...{ programs, policies },
    opponent: await opener.openSettings(opponent, { environment }),
    recorded: { policies: recorded, opponent: recordedPolicy(opponent) },
  };
}
