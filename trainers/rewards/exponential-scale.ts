import type { RewardProcessor } from "./reward-processor.ts";

/** e^(factor r) - 1 for r above 0, 1 - e^(-factor r) below: stretches what is far from 0, odd in r. */
export function exponentialScale(factor: number): RewardProcessor {
  return (reward) => Math.sign(reward) * Math.expm1(factor * Math.abs(reward));
}
