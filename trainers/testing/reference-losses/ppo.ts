import { type ClipRange, isClipped } from "../../losses/clip-range.ts";
import type { TokenInput, TokenLoss } from "./token-loss.ts";

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
