import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { tokenSequences } from "../../src/core/rollout/token-sequences.ts";

/** One agent's part of one scored episode: its sampled tokens and the reward of each of its turns. */
export interface Trajectory {
  readonly agent: AgentId;
  readonly episode: Episode;
  readonly sequences: readonly TokenSequence[];
  /** The agent's turns in order. `turn` is the turn number of the environment. */
  readonly turns: readonly { readonly turn: number; readonly reward: number }[];
  /** The sum of all rewards. */
  readonly reward: number;
  /** True if a limit cut the episode off, so that the rewards that would have followed have a value. */
  readonly truncated: boolean;
}

/** Returns the trajectories of an agent in a group. Unscored episodes are left out. */
export function trajectoriesOf(group: Group, agent: AgentId): Trajectory[] {
  return group.episodes.flatMap((episode) => {
    const record: AgentEpisode | undefined = episode.agents[agent];
    if (record?.reward.status !== "scored") return [];
    return [
      {
        agent,
        episode,
        sequences: tokenSequences(episode, agent),
        turns: record.turns.map(({ turn, reward }) => ({
          turn,
          reward: reward?.status === "scored" ? reward.value : 0,
        })),
        reward: record.reward.value,
        truncated: record.truncated && !record.terminated,
      },
    ];
  });
}

/** Returns the agents of a group, in order of appearance. */
export function agentsOf(group: Group): AgentId[] {
  return [...new Set(group.episodes.flatMap((episode) => Object.keys(episode.agents)))];
}

/** Returns true if two scored episodes of an agent have different rewards, so that a comparison gives a gradient. */
export function hasSignal(group: Group): boolean {
  return agentsOf(group).some((agent) => new Set(trajectoriesOf(group, agent).map(({ reward }) => reward)).size > 1);
}
