/**
 * A part of a loss, summed over the tokens whose loss mask is not 0. Notation: l is the current log-probability of
 * the target, q the behaviour's, p the reference's, A the advantage, w the loss mask, rho = exp(l - q), V the value
 * head's output, R the return, V' the old value.
 * `weight` (1 by default) multiplies the term.
 */
export type LossTerm =
  /** -w l */
  | { readonly type: "crossEntropy"; readonly weight?: number }
  /** -A l */
  | { readonly type: "policyGradient"; readonly weight?: number }
  /** -rho A */
  | { readonly type: "importanceSampling"; readonly weight?: number }
  /** -min(rho A, clip(rho, 1 - clipLow, 1 + clipHigh) A) (Schulman et al. 2017, https://arxiv.org/abs/1707.06347, eq. 7) */
  | { readonly type: "ppo"; readonly clipLow: number; readonly clipHigh: number; readonly weight?: number }
  /**
   * -stop(clip(rho, 1 - clipLow, 1 + clipHigh)) A l: the clipped ratio weighs the gradient and has none of its own, so
   * that no token loses its gradient (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1)
   */
  | { readonly type: "cispo"; readonly clipLow: number; readonly clipHigh: number; readonly weight?: number }
  /**
   * An estimate of KL(policy, reference) with d = p - l: k1 = -d, k2 = d^2 / 2, k3 = e^d - d - 1
   * (Schulman 2020, http://joschu.net/blog/kl-approx.html), each token weighted by the loss mask times `weight`.
   */
  | { readonly type: "kl"; readonly estimator: "k1" | "k2" | "k3"; readonly weight?: number }
  /**
   * -H: minus the entropy of the whole distribution at each token, so that a positive weight is a bonus. Weighted by
   * the loss mask, as `kl`.
   */
  | { readonly type: "entropy"; readonly weight?: number }
  /**
   * w (V - R)^2, for a model with a value head. With `clip`, w max((V - R)^2, (clip(V, V' - clip, V' + clip) - R)^2)
   * (Schulman et al. 2017, as in https://github.com/openai/baselines, ppo2). Reads `Datum.returns`, and with `clip`
   * `Datum.oldValues`.
   */
  | { readonly type: "value"; readonly clip?: number; readonly weight?: number };
