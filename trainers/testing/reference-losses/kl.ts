import { match } from "ts-pattern";
import type { KlEstimator } from "../../losses/kl-estimator.ts";
import type { TokenInput, TokenLoss } from "./token-loss.ts";

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
