import { sum } from "../../src/core/statistics.ts";
/**
 * How the losses of single tokens become one number. A backend only sums, so an aggregation is a factor per token.
 *
 * - `token-mean`: every trained token has the same weight (DAPO, Yu et al. 2025, https://arxiv.org/abs/2503.14476, eq.
 *   8).
 * - `sequence-mean`: the mean over sequences of the mean over their tokens (GRPO, Shao et al. 2024,
 *   https://arxiv.org/abs/2402.03300, eq. 3).
 * - `fixedLength`: the sum of each sequence divided by a constant, so that a token's weight does not depend on the
 *   length of its completion (Dr. GRPO, Liu et al. 2025, https://arxiv.org/abs/2503.20783, section 3.2).
 */
export type LossAggregation = "token-mean" | "sequence-mean" | { readonly fixedLength: number };

/**
 * Returns the factor of the tokens of each sequence. `tokenCounts` has the number of trained tokens of each sequence in
 * one optimizer step. A sequence without trained tokens gets 0 and is not counted.
 */
export function lossScales(aggregation: LossAggregation, tokenCounts: readonly number[]): number[] {
  const sequences = tokenCounts.filter((count) => count > 0).length;
  if (aggregation === "token-mean") {
    const total = sum(tokenCounts);
    return tokenCounts.map((count) => (count > 0 ? 1 / total : 0));
  }
  if (aggregation === "sequence-mean") {
    return tokenCounts.map((count) => (count > 0 ? 1 / (sequences * count) : 0));
  }
  return tokenCounts.map((count) => (count > 0 ? 1 / (sequences * aggregation.fixedLength) : 0));
}
