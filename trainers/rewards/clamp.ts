import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** Returns min(max(r, minimum), maximum). */
export const clamp: RewardProcessorDefinition = defineRewardProcessor({
  id: "clamp",
  description: "Limits the reward to a range.",
  options: z.object({
    minimum: z.number().default(-10).describe("The lower bound."),
    maximum: z.number().default(10).describe("The upper bound."),
  }),
  create:
    ({ minimum, maximum }) =>
    (reward) =>
      Math.min(Math.max(reward, minimum), maximum),
});
