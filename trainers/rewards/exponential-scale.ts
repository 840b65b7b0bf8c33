import { z } from "zod";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/**
 * Returns e^(factor r) - 1 for r above 0 and 1 - e^(-factor r) below 0. It stretches rewards far from 0 and is odd in
 * r.
 */
export const exponentialScale: RewardProcessorDefinition = defineRewardProcessor({
  id: "exponential-scale",
  description: "e^(factor r) - 1 for positive r, 1 - e^(-factor r) for negative r.",
  options: z.object({
    factor: z.number().positive().default(1).describe("How strongly large rewards are stretched."),
  }),
  create:
    ({ factor }) =>
    (reward) =>
      Math.sign(reward) * Math.expm1(factor * Math.abs(reward)),
});
