import type { LossTerm } from "../backend/loss-term.ts";
import type { LossAggregation } from "./loss-aggregation.ts";
import type { SequenceLoss } from "./sequence-loss.ts";

/** What an update minimises: terms that are added up, each token scaled by the aggregation. */
export interface Loss {
  readonly terms: readonly LossTerm[];
  readonly aggregation: LossAggregation;
  /** By what a value head on the policy learns the states that samples have beside their tokens: the mean over them. */
  readonly stateValues?: Extract<LossTerm, { readonly type: "value" }>;
  /** Stands in for the terms of the policy where a loss is no sum over tokens. */
  readonly sequence?: SequenceLoss;
}

/** True where a loss compares the policy with a frozen reference. */
export function needsReference(loss: Loss): boolean {
  return loss.sequence?.needsReference === true || loss.terms.some((term) => term.type === "kl");
}

/** The terms that a backend is asked for. */
export function backendTerms({ terms, sequence }: Loss): readonly LossTerm[] {
  return sequence === undefined ? terms : [{ type: "policyGradient" }, ...terms];
}
