import type { Group } from "../../src/contract/episode.ts";
import { mean } from "../../src/core/statistics.ts";
import { agentsOf, rewardsOf } from "../credit/trajectory.ts";

/**
 * Returns the mean reward of each agent over its scored episodes, as `agents/<agent>/reward`. If the agents' rewards
 * differ in any episode, also returns how often each agent had the highest reward, as `agents/<agent>/win-rate`. Agents
 * that tie share the win. Returns nothing for an environment with one agent.
 */
export function agentMetrics(groups: readonly Group[]): Record<string, number> {
  const agents = new Set(groups.flatMap(agentsOf));
  return agents.size < 2 ? {} : { ...agentRewards(groups), ...winRates(groups) };
}

function winRates(groups: readonly Group[]): Record<string, number> {
  const wins = new Map<string, number>();
  let played = 0;
  let compared = false;
  for (const { agents } of groups.flatMap(({ episodes }) => episodes)) {
    const rewards = Object.entries(agents).map(([agent, { reward }]) => ({ agent, reward }));
    const values = rewards.flatMap(({ agent, reward }) => (reward.status === "scored" ? [{ agent, ...reward }] : []));
    if (values.length < 2 || values.length < rewards.length) continue;
    const most = Math.max(...values.map(({ value }) => value));
    const winners = values.filter(({ value }) => value === most);
    compared ||= winners.length < values.length;
    played += 1;
    for (const { agent } of values) wins.set(agent, wins.get(agent) ?? 0);
    for (const { agent } of winners) wins.set(agent, wins.get(agent)! + 1 / winners.length);
  }
  if (!compared) return {};
  return Object.fromEntries([...wins].map(([agent, count]) => [`agents/${agent}/win-rate`, count / played]));
}

function agentRewards(groups: readonly Group[]): Record<string, number> {
  const rewards = new Map<string, number[]>();
  for (const group of groups) {
    for (const agent of agentsOf(group)) {
      rewards.set(agent, [...(rewards.get(agent) ?? []), ...rewardsOf(group, agent)]);
    }
  }
  return Object.fromEntries(
    [...rewards].filter(([, own]) => own.length > 0).map(([agent, own]) => [`agents/${agent}/reward`, mean(own)]),
  );
}
