import type { AgentId } from "../../contract/action.ts";
import type { Reward } from "../../contract/reward.ts";
import type { Random } from "../random/random.ts";
import { sum } from "../statistics.ts";

/** The choice and the rewards of a joint action. */
export interface JointChoice {
  readonly choice: Readonly<Record<AgentId, number>>;
  readonly rewards: Readonly<Record<AgentId, Reward>>;
}

/**
 * Returns the value of a joint action: the mean reward of its acting agents without partners. If only partners act, it
 * is the mean reward of all agents that are not partners. Returns undefined if one of these rewards is unscored.
 */
export function jointValue({ choice, rewards }: JointChoice, partners: readonly AgentId[] = []): number | undefined {
  let sum = 0;
  const counts = (agent: AgentId): boolean => !partners.includes(agent);
  const acting = Object.keys(choice).filter(counts);
  const agents = acting.length > 0 ? acting : Object.keys(rewards).filter(counts);
  for (const agent of agents) {
    const reward = rewards[agent]!;
    if (reward.status === "unscored") return undefined;
    sum += reward.value;
  }
  return sum / agents.length;
}

/** Returns the mean value of the scored joint actions. Returns undefined if there are none. */
export function meanJointValue(
  jointActions: readonly JointChoice[],
  partners: readonly AgentId[] = [],
): number | undefined {
  const values = jointActions.map((one) => jointValue(one, partners)).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return sum(values) / values.length;
}

/**
 * Chooses the joint action that the rollout continues with. Prefers scored ones. `randomIndependent` draws the index of
 * each agent independently, so the result can differ from all given joint actions.
 */
export function chooseHandoff(
  candidates: readonly JointChoice[],
  options: {
    readonly handoff: "random" | "best" | "randomIndependent";
    readonly random: Random;
    readonly partners?: readonly AgentId[];
  },
): Readonly<Record<AgentId, number>> {
  const { handoff, random, partners = [] } = options;
  const worthOf = (one: JointChoice): number | undefined => jointValue(one, partners);
  const valued = candidates.filter((one) => worthOf(one) !== undefined);
  const eligible = valued.length > 0 ? valued : candidates;
  if (handoff === "random") return random.pick(eligible).choice;
  if (handoff === "best") {
    return eligible.reduce((best, one) => (worthOf(one)! > worthOf(best)! ? one : best)).choice;
  }
  const agents = Object.keys(eligible[0]!.choice);
  return Object.fromEntries(
    agents.map((agent) => [agent, random.pick([...new Set(eligible.map(({ choice }) => choice[agent]!))])]),
  );
}
