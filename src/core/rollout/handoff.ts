import type { AgentId } from "../../contract/action.ts";
import type { Reward } from "../../contract/reward.ts";
import type { Random } from "../random/random.ts";

/** A joint action that can go on. */
export interface Continuable {
  readonly choice: Readonly<Record<AgentId, number>>;
  readonly rewards: Readonly<Record<AgentId, Reward>>;
}

/**
 * What a joint action is worth: the mean reward of the agents that act in it, partners left out (of all agents but the
 * partners if only partners act). Undefined where one of them is unscored.
 */
export function jointValue({ choice, rewards }: Continuable, partners: readonly AgentId[] = []): number | undefined {
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

/** The mean value of those that are scored; undefined where none is. */
export function meanJointValue(
  jointActions: readonly Continuable[],
  partners: readonly AgentId[] = [],
): number | undefined {
  const values = jointActions.map((one) => jointValue(one, partners)).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The choice that is handed on, of joint actions that can go on: of the scored ones where there are any. Under
 * `randomIndependent` each agent's index comes from one of them, and the whole may be none of them.
 */
export function chooseHandoff(
  goingOn: readonly Continuable[],
  options: {
    readonly handoff: "random" | "best" | "randomIndependent";
    readonly random: Random;
    readonly partners?: readonly AgentId[];
  },
): Readonly<Record<AgentId, number>> {
  const { handoff, random, partners = [] } = options;
  const worth = (one: Continuable): number | undefined => jointValue(one, partners);
  const valued = goingOn.filter((one) => worth(one) !== undefined);
  const eligible = valued.length > 0 ? valued : goingOn;
  if (handoff === "random") return random.pick(eligible).choice;
  if (handoff === "best") {
    return eligible.reduce((best, one) => (worth(one)! > worth(best)! ? one : best)).choice;
  }
  const agents = Object.keys(eligible[0]!.choice);
  return Object.fromEntries(
    agents.map((agent) => [agent, random.pick([...new Set(eligible.map(({ choice }) => choice[agent]!))])]),
  );
}
