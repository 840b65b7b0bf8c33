import type { AgentId } from "../../contract/action.ts";
import type { AgentStep, EnvironmentDefinition, StepResult } from "../../contract/environment.ts";
import { checkCount } from "../rollout/rollout-options.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * Limits episodes to `maxTurns` steps. An episode that would continue is truncated, not terminated. Demonstrations that
 * need more steps are removed. A limit above the environment's own has no effect.
 */
export function timeLimit<Task>(
  environment: EnvironmentDefinition<Task>,
  maxTurns: number,
): EnvironmentDefinition<Task> {
  checkCount("maxTurns", maxTurns);
  const { spec } = environment;
  const limit = Math.min(maxTurns, spec.maxTurns);
  return wrapEnvironment(environment, {
    spec: (inner) => ({ maxTurns: Math.min(limit, inner.maxTurns) }),
    start: () => limitedEpisode({ agents: spec.agents, limit, turn: 0, over: new Set() }),
    demonstrate:
      environment.demonstrate &&
      ((task, options) => {
        const demonstration = environment.demonstrate!(task, options);
        return demonstration !== undefined && demonstration.length <= limit ? demonstration : undefined;
      }),
  });
}

function limitedEpisode(options: {
  readonly agents: readonly AgentId[];
  readonly limit: number;
  turn: number;
  /** The agents whose episode has already ended. */
  readonly over: Set<AgentId>;
}): WrappedEpisode {
  const { agents, limit, over } = options;
  let { turn } = options;
  return {
    step: async (actions, inner) => {
      const result = await inner(actions);
      turn += 1;
      for (const [agent, step] of Object.entries(result.agents)) {
        if (step.terminated || step.truncated) over.add(agent);
      }
      if (turn < limit || Object.keys(result.observations).length === 0) return result;
      return truncated(
        result,
        agents.filter((agent) => !over.has(agent)),
      );
    },
    copy: () => limitedEpisode({ agents, limit, turn, over: new Set(over) }),
  };
}

/** Returns a result that truncates these agents. */
export function truncated(result: StepResult, agents: readonly AgentId[]): StepResult {
  const cut: Record<AgentId, AgentStep> = { ...result.agents };
  for (const agent of agents) cut[agent] = { ...cut[agent], terminated: false, truncated: true };
  return { ...result, observations: {}, agents: cut };
}
