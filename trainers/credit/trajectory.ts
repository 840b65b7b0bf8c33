import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { withoutRounding } from "../../src/core/statistics.ts";
import type { TrainingEpisode, TrainingGroup } from "../data/training-group.ts";

/** One agent's part of one scored episode: its sampled tokens and the reward of each of its turns. */
export interface Trajectory {
  readonly agent: AgentId;
  readonly episode: TrainingEpisode;
  readonly sequences: readonly TokenSequence[];
  /** The agent's turns in order. `turn` is the turn number of the environment. */
  readonly turns: readonly { readonly turn: number; readonly reward: number }[];
  /** The sum of all rewards. */
  readonly reward: number;
  /** True if a limit cut the episode off, so that the rewards that would have followed have a value. */
  readonly truncated: boolean;
}

/** Returns the trajectories of an agent in a group. Unscored episodes are left out. */
export function trajectoriesOf(group: TrainingGroup, agent: AgentId): Trajectory[] {
  return group.episodes.flatMap((episode) => {
    const record: AgentEpisode | undefined = episode.agents[agent];
    if (record?.reward.status !== "scored") return [];
    return [
      {
        agent,
        episode,
        sequences: episode.sequencesOf(agent),
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

/** Returns the reward of each scored episode of an agent. */
export function rewardsOf(group: Group, agent: AgentId): number[] {
  return group.episodes.flatMap(({ agents }) => {
    const reward = agents[agent]?.reward;
    return reward?.status === "scored" ? [reward.value] : [];
  });
}

/** Returns true if two scored episodes of an agent have different rewards, so that a comparison gives a gradient. */
export function hasSignal(group: Group): boolean {
  return agentsOf(group).some((agent) => differ(rewardsOf(group, agent)));
}

/** Returns true if not all values are equal. Differences by rounding do not count. */
export function differ(values: readonly number[]): boolean {
  return new Set(withoutRounding(values)).size > 1;
}
