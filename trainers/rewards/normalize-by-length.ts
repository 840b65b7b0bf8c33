import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** Returns r x min(1, length / full). An answer of fewer than `full` tokens keeps only a part of its reward. */
export const normalizeByLength: RewardProcessorDefinition = defineRewardProcessor({
  id: "normalize-by-length",
  description: "Lowers the reward of short answers.",
  options: z.object({
    full: z
      .int()
      .positive()
      .default(1000)
      .describe("The number of tokens from which an answer keeps its whole reward."),
  }),
  create:
    ({ full }) =>
    (reward, { length }) =>
      reward * Math.min(1, length / full),
});
