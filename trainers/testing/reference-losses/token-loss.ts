/**
 * The input of a loss for one token. All logarithms are natural. The formulas use l for `logprob`, q for
 * `behaviourLogprob`, p for `referenceLogprob`, A for `advantage` and w for `mask`.
 */
export interface TokenInput {
  /** The log-probability under the current weights. */
  readonly logprob: number;
  /** The log-probability under the policy that sampled. Read by the losses with a ratio. `logprob` by default. */
  readonly behaviourLogprob?: number;
  /** The log-probability under the frozen reference. Read by `kl`. `logprob` by default. */
  readonly referenceLogprob?: number;
  /** The advantage, scaled by the loss aggregation. Read by the policy losses. 0 by default. */
  readonly advantage?: number;
  /** The loss mask. It scales the terms that have no advantage. */
  readonly mask: number;
}

/** The value of a loss at one token, and its derivative with respect to `logprob`. */
export interface TokenLoss {
  readonly value: number;
  readonly derivative: number;
}
