import { match } from "ts-pattern";
import type { LossTerm } from "../../backend/loss-term.ts";
import { cispo } from "./cispo.ts";
import { crossEntropy } from "./cross-entropy.ts";
import { importanceSampling } from "./importance-sampling.ts";
import { kl } from "./kl.ts";
import { policyGradient } from "./policy-gradient.ts";
import { ppo } from "./ppo.ts";
import type { TokenInput, TokenLoss } from "./token-loss.ts";

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
