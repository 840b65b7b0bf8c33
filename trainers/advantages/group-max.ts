import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/**
 * A = R - max(R), the MAREMAX of CoMLRL. No advantage is above 0, so it only lowers the probability of completions. The
 * best completion of a group has no gradient.
 */
export const groupMax: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-max",
  estimate: (rewards) => {
    const best = rewards.reduce((most, reward) => Math.max(most, reward), Number.NEGATIVE_INFINITY);
    return rewards.map((reward) => reward - best);
  },
});
