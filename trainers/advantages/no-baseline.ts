import { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";

/** A = R, without a baseline (REINFORCE, Williams 1992, https://doi.org/10.1007/BF00992696). */
export const noBaseline: AdvantageEstimator = defineAdvantageEstimator({
  id: "none",
  estimate: (rewards) => [...rewards],
});
