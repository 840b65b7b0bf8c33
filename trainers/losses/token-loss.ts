/**
 * What a loss looks at for one token. Natural logarithms throughout; notation of the formulas: l `logprob`,
 * q `behaviourLogprob`, p `referenceLogprob`, A `advantage`, w `mask`.
 */
export interface TokenInput {
  /** Under the current weights. */
  readonly logprob: number;
  /** Under the policy that sampled. Read by the losses with a ratio. */
  readonly behaviourLogprob?: number;
  /** Under the frozen reference. Read by `kl`. */
  readonly referenceLogprob?: number;
  /** Scaled by the loss aggregation. Read by the policy losses. */
  readonly advantage?: number;
  /** The loss mask. Scales the terms that have no advantage. */
  readonly mask: number;
}

/** A loss at one token, and its derivative with respect to `logprob`. */
export interface TokenLoss {
  readonly value: number;
  readonly derivative: number;
}
