import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** Returns 1 / (1 + e^-r), which is between 0 and 1. */
export const sigmoidScale: RewardProcessorDefinition = defineRewardProcessor({
  id: "sigmoid-scale",
  description: "1 / (1 + e^-r).",
  options: z.object({}),
  create: () => (reward) => (reward >= 0 ? 1 / (1 + Math.exp(-reward)) : Math.exp(reward) / (1 + Math.exp(reward))),
});
