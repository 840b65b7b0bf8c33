import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/**
 * A = R - the reward of the greedy completion of the same prompt (ReMax, Li et al. 2023,
 * https://arxiv.org/abs/2310.10505, eq. 4).
 */
export const greedyBaseline: AdvantageEstimator = defineAdvantageEstimator({
  id: "greedy-baseline",
  needsGreedy: true,
  estimate: (rewards, greedy = 0) => rewards.map((reward) => reward - greedy),
});
