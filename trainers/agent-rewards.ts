import type { Group } from "../src/rollout/episode.ts";
import { agentsOf, trajectoriesOf } from "./credit/trajectory.ts";
import { mean } from "./statistics.ts";

/** The mean reward of each agent over its scored episodes, as `agents/<agent>/reward`. */
export function agentRewards(groups: readonly Group[]): Record<string, number> {
  const rewards = new Map<string, number[]>();
  for (const group of groups) {
    for (const agent of agentsOf(group)) {
      const own = trajectoriesOf(group, agent).map(({ reward }) => reward);
      rewards.set(agent, [...(rewards.get(agent) ?? []), ...own]);
    }
  }
  return Object.fromEntries(
    [...rewards].filter(([, own]) => own.length > 0).map(([agent, own]) => [`agents/${agent}/reward`, mean(own)]),
  );
}
