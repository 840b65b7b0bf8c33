/**
 * How the losses of single tokens become one number. A backend only sums, so an aggregation is a factor per token.
 *
 * - `token-mean`: every trained token weighs the same (DAPO, Yu et al. 2025, https://arxiv.org/abs/2503.14476, eq. 8).
 * - `sequence-mean`: the mean over sequences of each one's mean over its tokens (GRPO, Shao et al. 2024,
 *   https://arxiv.org/abs/2402.03300, eq. 3).
 * - `fixedLength`: each sequence's sum divided by one constant, so that a token's weight does not depend on how long
 *   the completion was (Dr. GRPO, Liu et al. 2025, https://arxiv.org/abs/2503.20783, section 3.2).
 */
export type LossAggregation = "token-mean" | "sequence-mean" | { readonly fixedLength: number };

/**
 * The factor of every token of each sequence. `tokenCounts` are the trained tokens of the sequences that one
 * optimizer step sees. Sequences without any are not counted among them.
 */
export function lossScales(aggregation: LossAggregation, tokenCounts: readonly number[]): number[] {
  const sequences = tokenCounts.filter((count) => count > 0).length;
  if (aggregation === "token-mean") {
    const total = tokenCounts.reduce((sum, count) => sum + count, 0);
    return tokenCounts.map((count) => (count > 0 ? 1 / total : 0));
  }
  if (aggregation === "sequence-mean") {
    return tokenCounts.map((count) => (count > 0 ? 1 / (sequences * count) : 0));
  }
  return tokenCounts.map((count) => (count > 0 ? 1 / (sequences * aggregation.fixedLength) : 0));
}
