/**
 * A part of a loss, summed over the tokens whose loss mask is not 0. In the formulas, rho = exp(l - q). l is the
 * current log-probability of the target, q that of the policy that sampled, p that of the reference, A the advantage, w
 * the loss mask, V the value head's output, R the return and V' the old value. `weight` (1 by default) multiplies the
 * term.
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
   * -stop(clip(rho, 1 - clipLow, 1 + clipHigh)) A l. The clipped ratio scales the gradient and has no gradient of its
   * own, so no token loses its gradient (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1)
   */
  | { readonly type: "cispo"; readonly clipLow: number; readonly clipHigh: number; readonly weight?: number }
  /**
   * An estimate of KL(policy, reference). With d = p - l: k1 = -d, k2 = d^2 / 2, k3 = e^d - d - 1 (Schulman 2020,
   * http://joschu.net/blog/kl-approx.html). Each token is scaled by the loss mask times `weight`.
   */
  | { readonly type: "kl"; readonly estimator: "k1" | "k2" | "k3"; readonly weight?: number }
  /**
   * -H, the negative entropy of the distribution at each token. A positive weight is an entropy bonus. Scaled by the
   * loss mask, like `kl`.
   */
  | { readonly type: "entropy"; readonly weight?: number }
  /**
   * w (V - R)^2, for a model with a value head. With `clip`: w max((V - R)^2, (clip(V, V' - clip, V' + clip) - R)^2)
   * (Schulman et al. 2017, as in https://github.com/openai/baselines, ppo2). Reads `Datum.returns`, and
   * `Datum.oldValues` if clipped.
   */
  | { readonly type: "value"; readonly clip?: number; readonly weight?: number };
