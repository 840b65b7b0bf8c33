import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** Returns factor x r. */
export const scale: RewardProcessorDefinition = defineRewardProcessor({
  id: "scale",
  description: "Multiplies the reward.",
  options: z.object({ factor: z.number().default(1).describe("The factor that the reward is multiplied by.") }),
  create:
    ({ factor }) =>
    (reward) =>
      factor * reward,
});
