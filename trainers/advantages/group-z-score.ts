import { mean, standardDeviation } from "../metrics/statistics.ts";
import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/**
 * A = (R - mean(R)) / (std(R) + 1e-8), with the unbiased standard deviation. 0 for a group of one (GRPO, Shao et al.
 * 2024, https://arxiv.org/abs/2402.03300, section 4.1.2).
 */
export const groupZScore: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-z-score",
  estimate: (rewards) => {
    const baseline = mean(rewards);
    const scale = standardDeviation(rewards) + 1e-8;
    return rewards.map((reward) => (reward - baseline) / scale);
  },
});
