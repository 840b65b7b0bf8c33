import { z } from "zod";
import { groupMean } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true, lossAggregation: { fixedLength: 256 } }),
  ...clipSettings({ low: 0.2, high: 0.2 }),
});

/**
 * Dr. GRPO (Liu et al. 2025, https://arxiv.org/abs/2503.20783): GRPO without its two biases. Advantages are not divided
 * by the group's standard deviation. Tokens of long and short completions have the same weight.
 */
export const drGrpo: AlgorithmDefinition = defineAlgorithm({
  id: "dr-grpo",
  description: "GRPO that does not divide by the standard deviation or by the length.",
  settings,
  create: ({ clipLow, clipHigh, ...group }) =>
    groupAlgorithm(group, { estimator: groupMean, policy: { type: "ppo", clipLow, clipHigh } }),
});
