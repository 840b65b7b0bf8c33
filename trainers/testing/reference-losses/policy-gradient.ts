import type { TokenInput, TokenLoss } from "./token-loss.ts";

/** Returns -A l (REINFORCE, Williams 1992, https://doi.org/10.1007/BF00992696). */
export function policyGradient({ logprob, advantage = 0 }: TokenInput): TokenLoss {
  return { value: -advantage * logprob, derivative: -advantage };
}
