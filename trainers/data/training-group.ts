import type { AgentId } from "../../src/contract/action.ts";
import type { Episode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { tokenSequences } from "../../src/core/rollout/token-sequences.ts";

/** An episode to train on. */
export interface TrainingEpisode extends Episode {
  /**
   * Returns the token sequences of an agent. They are built at the first call. Copies of the episode with other rewards
   * share them.
   */
  readonly sequencesOf: (agent: AgentId) => readonly TokenSequence[];
}

/** The episodes of one task to train on. Filters, credit assignment and metrics read the same token sequences. */
export type TrainingGroup = Group<TrainingEpisode>;

/** Converts the episodes of a task for training. Call it once for each group. */
export function trainingGroup(group: Group): TrainingGroup {
  const episodes = group.episodes.map((episode) => {
    return withSequences(episode, (agent) => tokenSequences(episode, agent));
  });
  return { ...group, episodes };
}

/** Returns the episode with the sequences that `build` returns for an agent. Calls it at most once for each agent. */
export function withSequences(episode: Episode, build: TrainingEpisode["sequencesOf"]): TrainingEpisode {
  const built = new Map<AgentId, readonly TokenSequence[]>();
  const sequencesOf = (agent: AgentId): readonly TokenSequence[] => {
    const sequences = built.get(agent) ?? build(agent);
    built.set(agent, sequences);
    return sequences;
  };
  return { ...episode, sequencesOf };
}
