import type { RewardProcessor } from "./reward-processor.ts";

/** Returns r + by. */
export function shift(by: number): RewardProcessor {
  return (reward) => reward + by;
}
