import type { AgentId } from "../../src/contract/action.ts";
import { invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";

/** The agents that a team's models must fit. */
export interface TeamAgents {
  /** Every agent of the environment. */
  readonly all: readonly AgentId[];
  /** The agents that the team plays. */
  readonly played: readonly AgentId[];
}

/**
 * Checks that a team fits the agents of an environment. `team` is the team's name in errors. `named` are the agents
 * that it has a model for. Throws `config.unknown-name` if one is not an agent of the environment, and `config.invalid` if an agent
 * that is played has no model.
 */
export function checkTeam(options: {
  readonly team: string;
  readonly named: readonly AgentId[];
  readonly agents: TeamAgents;
}): void {
  const { team, named, agents } = options;
  const { all, played } = agents;
  const data = { named: [...named], agents: [...all] };
  const unknown = named.find((agent) => !all.includes(agent));
  if (unknown !== undefined) {
    throw new LyceumError({
      code: "config.unknown-name",
      message: `${team} has a model for "${unknown}", but the environment has no such agent.`,
      hint:
        all.length === 1
          ? "The environment has a single agent. Name the model of one agent of the team, such as TEAM/AGENT."
          : `Its agents: ${all.join(", ")}. Name a model for each: --model ${all[0]}=MODEL.`,
      data,
    });
  }
  const lacking = played.find((agent) => !named.includes(agent));
  if (lacking === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${team} has no model for the agent "${lacking}", only for ${named.join(", ")}.`,
    hint: `Name a model for each agent: ${played.map((agent) => `--model ${agent}=MODEL`).join(" ")}, or set agents in a policy file.`,
    data,
  });
}

/** Creates the error for a team where one model is needed. `models` are the models by agent. */
export function oneModelError(team: string, models: Readonly<Record<AgentId, string>>): LyceumError {
  const names = Object.keys(models);
  return invalidConfig(
    `${team} has a model for each of ${names.join(", ")}, but one model is needed.`,
    `Name one of them, such as ${Object.values(models)[0]}.`,
    { named: names },
  );
}
