import { z } from "zod";
import { groupZScore } from "../advantages/index.ts";
import { gspo as sequenceRatio } from "../losses/gspo.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true }),
  ...clipSettings({ low: 3e-4, high: 4e-4 }),
});

/**
 * Group sequence policy optimization (Zheng et al. 2025, https://arxiv.org/abs/2507.18071). Like GRPO, with one
 * probability ratio per sequence. Its loss is averaged over sequences. `lossAggregation` applies to the other terms
 * (KL, entropy).
 */
export const gspo: AlgorithmDefinition = defineAlgorithm({
  id: "gspo",
  description: "GRPO with one probability ratio per sequence.",
  settings,
  create: ({ clipLow, clipHigh, ...group }) =>
    groupAlgorithm(group, { estimator: groupZScore, policy: sequenceRatio({ clipLow, clipHigh }) }),
});
