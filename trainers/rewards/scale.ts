import type { RewardProcessor } from "./reward-processor.ts";

/** Returns factor x r. */
export function scale(factor: number): RewardProcessor {
  return (reward) => factor * reward;
}
