import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** Returns r + by. */
export const shift: RewardProcessorDefinition = defineRewardProcessor({
  id: "shift",
  description: "Adds a constant to the reward.",
  options: z.object({ by: z.number().default(0).describe("The constant to add.") }),
  create:
    ({ by }) =>
    (reward) =>
      reward + by,
});
