import type { RewardProcessor } from "./reward-processor.ts";

/** Returns r x min(1, length / full). An answer of fewer than `full` tokens keeps only a part of its reward. */
export function normalizeByLength(full: number): RewardProcessor {
  return (reward, { length }) => reward * Math.min(1, length / full);
}
