import { match } from "ts-pattern";
import type { LossTerm } from "../loss-term.ts";
import { type ClipRange, isClipped } from "./clip-range.ts";
import type { KlEstimator } from "./kl-estimator.ts";

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

/** The loss terms that depend on the sampled token's log-probability: all except `entropy` and `value`. */
export type TokenLossTerm = Exclude<LossTerm, { readonly type: "entropy" | "value" }>;

/**
 * Returns the value and derivative of a loss term at one token, including the term's weight. This is the reference that
 * backends are tested against.
 */
export function tokenLossOf(term: TokenLossTerm, input: TokenInput): TokenLoss {
  const weight = term.weight ?? 1;
  const { value, derivative } = unweighted(term, input);
  return { value: weight * value, derivative: weight * derivative };
}

function unweighted(term: TokenLossTerm, input: TokenInput): TokenLoss {
  return match(term)
    .with({ type: "crossEntropy" }, () => crossEntropy(input))
    .with({ type: "policyGradient" }, () => policyGradient(input))
    .with({ type: "importanceSampling" }, () => importanceSampling(input))
    .with({ type: "ppo" }, (clipped) => ppo(input, clipped))
    .with({ type: "cispo" }, (clipped) => cispo(input, clipped))
    .with({ type: "kl" }, ({ estimator }) => kl(input, estimator))
    .exhaustive();
}

/** Returns -w l. */
function crossEntropy({ logprob, mask }: TokenInput): TokenLoss {
  return { value: -mask * logprob, derivative: -mask };
}

/** Returns -A l (REINFORCE, Williams 1992, https://doi.org/10.1007/BF00992696). */
export function policyGradient({ logprob, advantage = 0 }: TokenInput): TokenLoss {
  return { value: -advantage * logprob, derivative: -advantage };
}

/** Returns -rho A with rho = exp(l - q). */
export function importanceSampling({ logprob, behaviourLogprob = logprob, advantage = 0 }: TokenInput): TokenLoss {
  const value = -Math.exp(logprob - behaviourLogprob) * advantage;
  return { value, derivative: value };
}

/**
 * Returns -min(rho A, clip(rho, 1 - clipLow, 1 + clipHigh) A) with rho = exp(l - q) (Schulman et al. 2017,
 * https://arxiv.org/abs/1707.06347, eq. 7). The derivative is -rho A, or 0 if clipped.
 */
export function ppo(input: TokenInput, range: ClipRange): TokenLoss {
  const { logprob, behaviourLogprob = logprob, advantage = 0 } = input;
  const ratio = Math.exp(logprob - behaviourLogprob);
  if (isClipped(ratio, advantage, range)) {
    const bound = advantage > 0 ? 1 + range.clipHigh : 1 - range.clipLow;
    return { value: -bound * advantage, derivative: 0 };
  }
  return { value: -ratio * advantage, derivative: -ratio * advantage };
}

/**
 * Returns -c A l with c = clip(rho, 1 - clipLow, 1 + clipHigh) and rho = exp(l - q). c counts as a constant, so the
 * derivative is -c A (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1).
 */
export function cispo(input: TokenInput, { clipLow, clipHigh }: ClipRange): TokenLoss {
  const { logprob, behaviourLogprob = logprob, advantage = 0 } = input;
  const ratio = Math.min(Math.max(Math.exp(logprob - behaviourLogprob), 1 - clipLow), 1 + clipHigh);
  return { value: -ratio * advantage * logprob, derivative: -ratio * advantage };
}

/**
 * Returns w times an estimate of KL(policy, reference) at one token sampled from the policy. With d = p - l: k1 = -d,
 * k2 = d^2 / 2, k3 = e^d - d - 1 (Schulman 2020, http://joschu.net/blog/kl-approx.html). As a loss term, only k2 has an
 * unbiased gradient of the KL divergence. The expected gradient of k1 is 0. GRPO uses k3.
 */
export function kl(input: TokenInput, estimator: KlEstimator): TokenLoss {
  const { logprob, referenceLogprob = logprob, mask } = input;
  const d = referenceLogprob - logprob;
  return match(estimator)
    .with("k1", () => ({ value: -d * mask, derivative: mask }))
    .with("k2", () => ({ value: ((d * d) / 2) * mask, derivative: -d * mask }))
    .with("k3", () => ({ value: (Math.expm1(d) - d) * mask, derivative: -Math.expm1(d) * mask }))
    .exhaustive();
}
