import type { RewardProcessor } from "./reward-processor.ts";

/** Returns 1 / (1 + e^-r), which is between 0 and 1. */
export const sigmoidScale: RewardProcessor = (reward) =>
  reward >= 0 ? 1 / (1 + Math.exp(-reward)) : Math.exp(reward) / (1 + Math.exp(reward));
