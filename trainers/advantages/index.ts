import { createRegistry, type Registry } from "../../src/core/registry.ts";
import {
  type AdvantageEstimator,
  greedyBaseline,
  groupMax,
  groupMean,
  groupZScore,
  leaveOneOut,
  noBaseline,
} from "./advantage-estimators.ts";

export * from "./advantage-estimators.ts";
export { generalizedAdvantages } from "./generalized-advantages.ts";

/** The advantage estimators that a config can name. */
export const advantageEstimators: Registry<AdvantageEstimator> = createRegistry("advantage estimator", [
  noBaseline,
  groupMean,
  groupZScore,
  leaveOneOut,
  greedyBaseline,
  groupMax,
]);
