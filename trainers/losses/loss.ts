import type { LossTerm } from "../backend/loss-term.ts";
import type { LossAggregation } from "./loss-aggregation.ts";
import type { SequenceLoss } from "./sequence-loss.ts";

/** The loss of an update: the sum of its terms, each token scaled by the aggregation. */
export interface Loss {
  readonly terms: readonly LossTerm[];
  readonly aggregation: LossAggregation;
  /** The value-head loss on the extra states of a sample (`SampleData.states`), averaged over the states. */
  readonly stateValues?: Extract<LossTerm, { readonly type: "value" }>;
  /** A sequence-level loss. It replaces the policy term if the loss is not a sum over tokens. */
  readonly sequence?: SequenceLoss;
}

/** Returns true if the loss compares the policy with a frozen reference. */
export function needsReference(loss: Loss): boolean {
  return loss.sequence?.needsReference === true || loss.terms.some((term) => term.type === "kl");
}

/**
 * Returns the terms that the backend computes. A sequence-level loss becomes a `policyGradient` term, which comes
 * first.
 */
export function backendTerms({ terms, sequence }: Loss): readonly LossTerm[] {
  return sequence === undefined ? terms : [{ type: "policyGradient" }, ...terms];
}
