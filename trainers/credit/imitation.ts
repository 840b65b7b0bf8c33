import type { Episode, TokenSequence } from "../../src/contract/episode.ts";
import type { TrainingGroup } from "../data/training-group.ts";
import type { PerToken, TrainingSample } from "../data/training-sample.ts";
import type { Credit } from "./credit.ts";
import { agentsOf } from "./trajectory.ts";

/**
 * Imitates every episode that did not fail. Rewards are not read. `actions` is the weight of the agent's messages
 * (behavioural cloning). `observations` is the weight of the environment's messages (a world model). The first prompt
 * is never predicted.
 */
export function imitation(options: { readonly actions?: number; readonly observations?: number } = {}): Credit {
  const { actions = 1, observations = 0 } = options;
  return {
    assign: ({ groups }) => ({
      samples: groups.flatMap(imitationSamples).map((sample) => {
        if (actions === 1 && observations === 0) return sample;
        return { ...sample, weights: weightsOf(sample.sequences, { actions, observations }) };
      }),
    }),
  };
}

/** Returns one sample to imitate for each agent of each episode that did not fail. */
export function imitationSamples(group: TrainingGroup): TrainingSample[] {
  return agentsOf(group).flatMap((agent) =>
    group.episodes
      .filter(isPlayed)
      .map((episode) => ({ agent, sequences: episode.sequencesOf(agent) }))
      .filter(({ sequences }) => sequences.length > 0),
  );
}

function isPlayed({ status }: Episode): boolean {
  return status === "completed" || status === "truncated";
}

function weightsOf(
  sequences: readonly TokenSequence[],
  { actions, observations }: { readonly actions: number; readonly observations: number },
): PerToken {
  return sequences.map(({ mask }) => {
    const first = mask.indexOf(1);
    return mask.map((sampled, i) => (sampled === 1 ? actions : i > first ? observations : 0));
  });
}
