import type { LossTerm } from "../backend/loss-term.ts";
import { cispo } from "./cispo.ts";
import { crossEntropy } from "./cross-entropy.ts";
import { importanceSampling } from "./importance-sampling.ts";
import { kl } from "./kl.ts";
import { policyGradient } from "./policy-gradient.ts";
import { ppo } from "./ppo.ts";
import type { TokenInput, TokenLoss } from "./token-loss.ts";

/** The loss terms that are functions of the sampled token's log-probability: all but `entropy` and `value`. */
export type TokenLossTerm = Exclude<LossTerm, { readonly type: "entropy" | "value" }>;

/** The reference value and derivative of a loss term at one token, its weight included. */
export function tokenLossOf(term: TokenLossTerm, input: TokenInput): TokenLoss {
  const weight = term.weight ?? 1;
  const { value, derivative } = unweighted(term, input);
  return { value: weight * value, derivative: weight * derivative };
}

function unweighted(term: TokenLossTerm, input: TokenInput): TokenLoss {
  switch (term.type) {
    case "crossEntropy":
      return crossEntropy(input);
    case "policyGradient":
      return policyGradient(input);
    case "importanceSampling":
      return importanceSampling(input);
    case "ppo":
      return ppo(input, term);
    case "cispo":
      return cispo(input, term);
    case "kl":
      return kl(input, term.estimator);
  }
}
