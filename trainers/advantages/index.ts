import { createRegistry, type Registry } from "../../src/core/registry.ts";
import type { AdvantageEstimator } from "./advantage-estimator.ts";
import { greedyBaseline } from "./greedy-baseline.ts";
import { groupMax } from "./group-max.ts";
import { groupMean } from "./group-mean.ts";
import { groupZScore } from "./group-z-score.ts";
import { leaveOneOut } from "./leave-one-out.ts";
import { noBaseline } from "./no-baseline.ts";

export { type AdvantageEstimator, defineAdvantageEstimator } from "./advantage-estimator.ts";
export { generalizedAdvantages } from "./generalized-advantages.ts";
export { greedyBaseline, groupMax, groupMean, groupZScore, leaveOneOut, noBaseline };

/** The advantage estimators that a config can name. */
export const advantageEstimators: Registry<AdvantageEstimator> = createRegistry("advantage estimator", [
  noBaseline,
  groupMean,
  groupZScore,
  leaveOneOut,
  greedyBaseline,
  groupMax,
]);
