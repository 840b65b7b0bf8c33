import type { LossTerm } from "../backend/loss-term.ts";
import type { LossAggregation } from "./loss-aggregation.ts";

/** What an update minimises: terms that are added up, each token scaled by the aggregation. */
export interface Loss {
  readonly terms: readonly LossTerm[];
  readonly aggregation: LossAggregation;
}

/** True where a loss compares the policy with a frozen reference. */
export function needsReference(loss: Loss): boolean {
  return loss.terms.some((term) => term.type === "kl");
}
