import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Algorithm } from "../algorithms/index.ts";
import type { PlayedGroup } from "../credit/index.ts";
import { ofTrainedAgents } from "../credit/trained-agents.ts";
import { agentMetrics } from "./agent-metrics.ts";
import { rolloutMetrics, withoutPolicyMetrics } from "./rollout-metrics.ts";
import { taskGroupMetrics } from "./task-group-metrics.ts";

/**
 * Returns the metrics of the episodes of one step: those of the trained agents, and, with several agents, the reward of
 * each.
 */
export function playedMetrics(
  {
    algorithm,
    environment,
    frozen,
    namedGroups,
  }: {
    readonly algorithm: Pick<Algorithm, "credit" | "rollout">;
    readonly environment: EnvironmentDefinition;
    /** The agents that are not trained are the keys. */
    readonly frozen: Readonly<Record<AgentId, unknown>>;
    /** The groups of tasks that have metrics of their own. New ones are added. */
    readonly namedGroups: Set<string>;
  },
  all: readonly PlayedGroup[],
): Record<string, number> {
  const names = new Set(Object.keys(frozen));
  const played = all.map((task) => ofTrainedAgents(task, names));
  const { credit, rollout } = algorithm;
  const { environmentOf, spec } = environment;
  const groups = played.map(({ group }) => group);
  const branched = played.some(({ tree }) => tree !== undefined);
  const metrics = rolloutMetrics(groups, {
    rewardRange: spec.rewardRange,
    tools: spec.tools,
    environmentOf,
    // Paths of different lengths have different rewards. The completions of a node are compared instead.
    ...(branched && credit.hasSignal !== undefined
      ? { hasSignal: (_, index) => credit.hasSignal!(played[index]!) }
      : {}),
  });
  // The rewards of demonstrations are the expert's.
  if (rollout.actor === "demonstration") return withoutPolicyMetrics(metrics);
  return {
    ...metrics,
    ...taskGroupMetrics(played, { environment, named: namedGroups }),
    ...agentMetrics(all.map(({ group }) => group)),
  };
}
