import type { TokenInput, TokenLoss } from "./token-loss.ts";

/** Returns -w l. */
export function crossEntropy({ logprob, mask }: TokenInput): TokenLoss {
  return { value: -mask * logprob, derivative: -mask };
}
