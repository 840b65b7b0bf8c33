import type { RewardProcessor } from "./reward-processor.ts";

/** r x min(1, length / full): an answer shorter than `full` tokens keeps only a part of its reward. */
export function normalizeByLength(full: number): RewardProcessor {
  return (reward, { length }) => reward * Math.min(1, length / full);
}
