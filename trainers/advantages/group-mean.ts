import { mean } from "../metrics/statistics.ts";
import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/** A = R - mean(R) (Dr. GRPO, Liu et al. 2025, https://arxiv.org/abs/2503.20783). */
export const groupMean: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-mean",
  estimate: (rewards) => {
    const baseline = mean(rewards);
    return rewards.map((reward) => reward - baseline);
  },
});
