import type { RewardProcessor } from "./reward-processor.ts";

/** r + by. */
export function shift(by: number): RewardProcessor {
  return (reward) => reward + by;
}
