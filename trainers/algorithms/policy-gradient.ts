import { z } from "zod";
import {
  type AdvantageEstimator,
  greedyBaseline,
  groupMax,
  groupMean,
  leaveOneOut,
  noBaseline,
} from "../advantages/index.ts";
import { type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { type GroupDefaults, groupSettings } from "./group-settings.ts";

/** An algorithm whose loss is minus the advantage times the log-probability, without a ratio. */
function policyGradient(definition: {
  readonly id: string;
  readonly description: string;
  readonly estimator: AdvantageEstimator;
  readonly defaults: GroupDefaults;
}): AlgorithmDefinition {
  const { id, description, estimator, defaults } = definition;
  return defineAlgorithm({
    id,
    description,
    settings: z.strictObject(groupSettings(defaults)),
    create: (group) => groupAlgorithm(group, { estimator, policy: { type: "policyGradient" } }),
  });
}

/** REINFORCE (Williams 1992, https://doi.org/10.1007/BF00992696): the reward is the advantage, without a baseline. */
export const reinforce: AlgorithmDefinition = policyGradient({
  id: "reinforce",
  description: "Each token is weighted by the reward of its episode. No baseline.",
  estimator: noBaseline,
  defaults: { groupSize: 1, leastGroupSize: 1, dropGroupsWithoutSignal: false },
});

/**
 * RLOO (Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740): REINFORCE with the mean of the group's other episodes
 * as the baseline.
 */
export const rloo: AlgorithmDefinition = policyGradient({
  id: "rloo",
  description: "REINFORCE with the mean of the other episodes as its baseline.",
  estimator: leaveOneOut,
  defaults: { groupSize: 4 },
});

/**
 * ReMax (Li et al. 2023, https://arxiv.org/abs/2310.10505): REINFORCE with the reward of the greedy completion of the
 * same prompt as the baseline. It plays one more, greedy episode of each task.
 */
export const remax: AlgorithmDefinition = policyGradient({
  id: "remax",
  description: "REINFORCE with the greedy episode as its baseline.",
  estimator: greedyBaseline,
  defaults: { groupSize: 1, leastGroupSize: 1 },
});

/** The defaults of the algorithms for teams. Joint actions branch, and each turn is credited with the rewards from it on. */
const teamDefaults = { groupSize: 4, turnStructure: "tree", discount: 0.9, creditBy: "turn" } as const;

/**
 * Multi-agent REINFORCE (CoMLRL, https://github.com/OpenMLRL/CoMLRL). Each agent's completions are weighted by their
 * returns, without a baseline.
 */
export const mareinforce: AlgorithmDefinition = policyGradient({
  id: "mareinforce",
  description:
    "REINFORCE for a team: each agent weights its completions by the returns of the joint actions they were part of.",
  estimator: noBaseline,
  defaults: { ...teamDefaults, leastGroupSize: 1, dropGroupsWithoutSignal: false },
});

/**
 * Multi-agent GRPO (Liu et al. 2025, https://arxiv.org/abs/2508.04652), for agents that share a reward. Each agent
 * compares its completions with their mean return. No ratio, no clipping, no division by the standard deviation.
 */
export const magrpo: AlgorithmDefinition = policyGradient({
  id: "magrpo",
  description:
    "Multi-agent GRPO: each agent compares its completions by the returns of the joint actions they were part of.",
  estimator: groupMean,
  defaults: teamDefaults,
});

/**
 * Multi-agent RLOO (CoMLRL, https://github.com/OpenMLRL/CoMLRL): MAGRPO with the mean of the other completions as the
 * baseline.
 */
export const marloo: AlgorithmDefinition = policyGradient({
  id: "marloo",
  description: "RLOO for a team: the baseline is the mean of the agent's other completions.",
  estimator: leaveOneOut,
  defaults: teamDefaults,
});

/**
 * MAREMAX of CoMLRL (https://github.com/OpenMLRL/CoMLRL): MAGRPO with the best return of the group as the baseline. No
 * advantage is above 0, so an update can only lower the probability of completions.
 */
export const maremax: AlgorithmDefinition = policyGradient({
  id: "maremax",
  description: "MAGRPO with the best of a group as its baseline.",
  estimator: groupMax,
  defaults: teamDefaults,
});
