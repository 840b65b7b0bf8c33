import type { RewardProcessor } from "./reward-processor.ts";

/** factor x r. */
export function scale(factor: number): RewardProcessor {
  return (reward) => factor * reward;
}
