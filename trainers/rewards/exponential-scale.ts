import type { RewardProcessor } from "./reward-processor.ts";

/**
 * Returns e^(factor r) - 1 for r above 0 and 1 - e^(-factor r) below 0. It stretches rewards far from 0 and is odd in
 * r.
 */
export function exponentialScale(factor: number): RewardProcessor {
  return (reward) => Math.sign(reward) * Math.expm1(factor * Math.abs(reward));
}
