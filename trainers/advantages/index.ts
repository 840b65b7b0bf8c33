import { unknownNameError } from "../../src/contract/errors/index.ts";
import type { AdvantageEstimator } from "./advantage-estimator.ts";
import { greedyBaseline } from "./greedy-baseline.ts";
import { groupMax } from "./group-max.ts";
import { groupMean } from "./group-mean.ts";
import { groupZScore } from "./group-z-score.ts";
import { leaveOneOut } from "./leave-one-out.ts";
import { noBaseline } from "./no-baseline.ts";

export type { AdvantageEstimator } from "./advantage-estimator.ts";
export { generalizedAdvantages } from "./generalized-advantages.ts";
export { greedyBaseline, groupMax, groupMean, groupZScore, leaveOneOut, noBaseline };

/** All advantage estimators that a config can name. */
export const advantageEstimators: readonly AdvantageEstimator[] = [
  noBaseline,
  groupMean,
  groupZScore,
  leaveOneOut,
  greedyBaseline,
  groupMax,
];

/** Returns the estimator with this id. Throws `config.unknown-name`, with the nearest known id, if there is none. */
export function advantageEstimator(id: string): AdvantageEstimator {
  const found = advantageEstimators.find((estimator) => estimator.id === id);
  if (found === undefined) {
    throw unknownNameError({
      kind: "advantage estimator",
      name: id,
      known: advantageEstimators.map((estimator) => estimator.id),
    });
  }
  return found;
}
