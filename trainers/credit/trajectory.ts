import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { tokenSequences } from "../../src/core/rollout/token-sequences.ts";

/** One agent's part of one scored episode: what it sampled, and what each of its turns earned. */
export interface Trajectory {
  readonly agent: AgentId;
  readonly episode: Episode;
  readonly sequences: readonly TokenSequence[];
  /** The agent's actions in order, each with the step of the environment it was for. */
  readonly turns: readonly { readonly turn: number; readonly reward: number }[];
  /** The sum of all rewards. */
  readonly reward: number;
  /** True where a limit cut it off, so that what would have come has a value. */
  readonly truncated: boolean;
}

/** The trajectories of an agent in a group, unscored episodes left out. */
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

/** Every agent that appears in a group, in order of appearance. */
export function agentsOf(group: Group): AgentId[] {
  return [...new Set(group.episodes.flatMap((episode) => Object.keys(episode.agents)))];
}

/** True where two scored episodes of an agent earned different rewards, so that comparing them says something. */
export function hasSignal(group: Group): boolean {
  return agentsOf(group).some((agent) => new Set(trajectoriesOf(group, agent).map(({ reward }) => reward)).size > 1);
}
