import type { AdvantageEstimator } from "./advantage-estimator.ts";

/** A = R, without a baseline (REINFORCE, Williams 1992, https://doi.org/10.1007/BF00992696). */
export const noBaseline: AdvantageEstimator = {
  id: "none",
  estimate: (rewards) => [...rewards],
};
