import type { AgentId } from "../../src/environment/environment.ts";
import type { AgentEpisode, Episode, Group, TokenSequence } from "../../src/rollout/episode.ts";
import { tokenSequences } from "../../src/rollout/token-sequences.ts";
import type { AdvantageEstimator } from "../advantages/index.ts";

/** What one agent did in one episode, and how it is to be weighed. */
export interface TrainingSample {
  readonly agent: AgentId;
  /** Usually one; more where the conversation began anew in the middle. */
  readonly sequences: readonly TokenSequence[];
  /** Of every sampled token. Absent for imitation. */
  readonly advantage?: number;
}

/**
 * The samples of a batch: one per episode and agent that sampled any token. Unscored episodes leave their group
 * before the advantages are estimated. Without an estimator every episode that did not fail is imitated.
 */
export function trainingSamples(groups: readonly Group[], estimator?: AdvantageEstimator): TrainingSample[] {
  return groups.flatMap((group) =>
    agentsOf(group).flatMap((agent) =>
      estimator === undefined ? imitationSamples(group, agent) : comparedSamples(group, agent, estimator),
    ),
  );
}

/** True where two scored episodes of an agent earned different rewards, so that comparing them says something. */
export function hasSignal(group: Group): boolean {
  return agentsOf(group).some((agent) => new Set(scoredEpisodes(group, agent).map(({ reward }) => reward)).size > 1);
}

function imitationSamples(group: Group, agent: AgentId): TrainingSample[] {
  return group.episodes
    .filter(({ status }) => status === "completed" || status === "truncated")
    .flatMap((episode) => sampleOf(episode, agent));
}

function comparedSamples(group: Group, agent: AgentId, estimator: AdvantageEstimator): TrainingSample[] {
  const scored = scoredEpisodes(group, agent);
  const advantages = estimator.estimate(scored.map(({ reward }) => reward));
  return scored.flatMap(({ episode }, i) => sampleOf(episode, agent, advantages[i]));
}

function sampleOf(episode: Episode, agent: AgentId, advantage?: number): TrainingSample[] {
  const sequences = tokenSequences(episode, agent);
  if (sequences.length === 0) return [];
  return [{ agent, sequences, ...(advantage === undefined ? {} : { advantage }) }];
}

function scoredEpisodes(group: Group, agent: AgentId): { episode: Episode; reward: number }[] {
  return group.episodes.flatMap((episode) => {
    const reward = (episode.agents[agent] as AgentEpisode | undefined)?.reward;
    return reward?.status === "scored" ? [{ episode, reward: reward.value }] : [];
  });
}

function agentsOf(group: Group): AgentId[] {
  return [...new Set(group.episodes.flatMap((episode) => Object.keys(episode.agents)))];
}
