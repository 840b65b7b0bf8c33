import { z } from "zod";
import { groupZScore } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true }),
  ...clipSettings({ low: 1, high: 0.28 }),
});

/**
 * CISPO (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1). Like GRPO, but the clipped ratio is a constant
 * weight of the token's gradient. Tokens keep their gradient if their ratio is clipped, so rare tokens are still
 * trained.
 */
export const cispo: AlgorithmDefinition = defineAlgorithm({
  id: "cispo",
  description: "GRPO in which tokens with a clipped ratio keep their gradient.",
  settings,
  create: ({ clipLow, clipHigh, ...group }) =>
    groupAlgorithm(group, { estimator: groupZScore, policy: { type: "cispo", clipLow, clipHigh } }),
});
