import type { AgentEpisode, Episode, Group } from "../src/rollout/episode.ts";
import { hasSignal } from "./data/training-sample.ts";
import { mean, standardDeviation } from "./statistics.ts";

/**
 * Metrics of played groups: rewards over scored episodes (of every agent), shares from 0 to 1 of what went otherwise,
 * and lengths in tokens per action. A metric that does not exist here is absent.
 */
export function rolloutMetrics(groups: readonly Group[]): Record<string, number> {
  const episodes = groups.flatMap((group) => group.episodes);
  const agents = episodes.flatMap((episode) => Object.values(episode.agents));
  const rewards = agents.flatMap(({ reward }) => (reward.status === "scored" ? [reward.value] : []));
  const turns = agents.flatMap((agent) => agent.turns.map((turn) => ({ turn, node: agent.nodes[turn.node]! })));
  const lengths = turns.flatMap(({ node }) => (node.tokens?.mask === 1 ? [node.tokens.ids.length] : []));
  const entries: Record<string, number> = {
    "reward/mean": mean(rewards),
    "reward/std": rewards.length === 0 ? Number.NaN : standardDeviation(rewards),
    ...componentMeans(agents),
    "episodes/count": episodes.length,
    "episodes/unscored": share(episodes, isUnscored),
    "episodes/failed": share(episodes, ({ status }) => status === "failed"),
    "episodes/truncated": share(episodes, isTruncated),
    "groups/without-signal": share(groups, (group) => group.episodes.length > 1 && !hasSignal(group)),
    "turns/mean": mean(episodes.map((episode) => episode.turns)),
    "length/completion-mean": mean(lengths),
    "length/completion-max": lengths.length === 0 ? Number.NaN : Math.max(...lengths),
    "length/cut-off": share(turns, ({ turn }) => turn.finish === "length"),
    "tokens/sampled": lengths.reduce((sum, length) => sum + length, 0),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => Number.isFinite(value)));
}

/** The metrics of demonstrations: their rewards are the expert's and not the model's, and no token was sampled. */
export function withoutPolicyMetrics(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).filter(([name]) => !name.startsWith("reward/") && name !== "tokens/sampled"),
  );
}

/** True where the reward of any agent could not be determined. */
export function isUnscored(episode: Episode): boolean {
  return Object.values(episode.agents).some(({ reward }) => reward.status === "unscored");
}

/** What to tell a person of unscored episodes: how many, and why the first is one. Undefined where there are none. */
export function unscoredWarning(groups: readonly Group[]): string | undefined {
  const episodes = groups.flatMap((group) => group.episodes);
  const unscored = episodes.filter(isUnscored);
  const first = unscored
    .flatMap((episode) => Object.values(episode.agents))
    .find((agent) => agent.reward.status === "unscored");
  if (first?.reward.status !== "unscored") return undefined;
  return `${unscored.length} of ${episodes.length} episodes are unscored and were left out: ${first.reward.reason}`;
}

function isTruncated(episode: Episode): boolean {
  return episode.status === "truncated" || Object.values(episode.agents).some(({ truncated }) => truncated);
}

function componentMeans(agents: readonly AgentEpisode[]): Record<string, number> {
  const values = new Map<string, number[]>();
  for (const { reward } of agents) {
    if (reward.status !== "scored") continue;
    for (const [name, value] of Object.entries(reward.components)) {
      const list = values.get(name) ?? [];
      list.push(value);
      values.set(name, list);
    }
  }
  values.delete("reward");
  return Object.fromEntries([...values].map(([name, list]) => [`reward/component/${name}`, mean(list)]));
}

function share<T>(items: readonly T[], holds: (item: T) => boolean): number {
  return items.filter(holds).length / items.length;
}
