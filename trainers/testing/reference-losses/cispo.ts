import type { ClipRange } from "../../losses/clip-range.ts";
import type { TokenInput, TokenLoss } from "./token-loss.ts";

/**
 * Returns -c A l with c = clip(rho, 1 - clipLow, 1 + clipHigh) and rho = exp(l - q). c counts as a constant, so the
 * derivative is -c A (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1).
 */
export function cispo(input: TokenInput, { clipLow, clipHigh }: ClipRange): TokenLoss {
  const { logprob, behaviourLogprob = logprob, advantage = 0 } = input;
  const ratio = Math.min(Math.max(Math.exp(logprob - behaviourLogprob), 1 - clipLow), 1 + clipHigh);
  return { value: -ratio * advantage * logprob, derivative: -ratio * advantage };
}
