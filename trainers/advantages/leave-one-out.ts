import { mean } from "../metrics/statistics.ts";
import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/**
 * A = R - mean of the other rewards = G / (G - 1) (R - mean(R)). 0 for a group of one, which has no others (RLOO,
 * Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740, section 3).
 */
export const leaveOneOut: AdvantageEstimator = defineAdvantageEstimator({
  id: "leave-one-out",
  estimate: (rewards) => {
    if (rewards.length < 2) return rewards.map(() => 0);
    const baseline = mean(rewards);
    const factor = rewards.length / (rewards.length - 1);
    return rewards.map((reward) => factor * (reward - baseline));
  },
});
