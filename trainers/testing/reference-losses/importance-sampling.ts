import type { TokenInput, TokenLoss } from "./token-loss.ts";

/** Returns -rho A with rho = exp(l - q). */
export function importanceSampling({ logprob, behaviourLogprob = logprob, advantage = 0 }: TokenInput): TokenLoss {
  const value = -Math.exp(logprob - behaviourLogprob) * advantage;
  return { value, derivative: value };
}
