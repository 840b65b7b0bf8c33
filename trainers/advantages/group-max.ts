import type { AdvantageEstimator } from "./advantage-estimator.ts";

/**
 * A = R - max(R): CoMLRL's MAREMAX. No advantage is above 0, so it only ever makes completions less likely: the best
 * of a group is left as it is.
 */
export const groupMax: AdvantageEstimator = {
  id: "group-max",
  estimate: (rewards) => {
    const best = rewards.reduce((most, reward) => Math.max(most, reward), Number.NEGATIVE_INFINITY);
    return rewards.map((reward) => reward - best);
  },
};
