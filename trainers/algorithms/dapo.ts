import { z } from "zod";
import { groupZScore } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true, resampleRounds: 3 }),
  ...clipSettings({ low: 0.2, high: 0.28 }),
});

/**
 * DAPO (Yu et al. 2025, https://arxiv.org/abs/2503.14476). GRPO with a higher upper clip bound (clip-higher), more
 * tasks in place of groups without a signal (dynamic sampling), and a loss that is averaged over tokens.
 */
export const dapo: AlgorithmDefinition = defineAlgorithm({
  id: "dapo",
  description: "GRPO with a higher upper clip bound (clip-higher) and dynamic sampling.",
  settings,
  create: ({ clipLow, clipHigh, ...group }) =>
    groupAlgorithm(group, { estimator: groupZScore, policy: { type: "ppo", clipLow, clipHigh } }),
});
