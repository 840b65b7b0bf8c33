import { z } from "zod";
import { greedyBaseline } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ groupSize: 1, leastGroupSize: 1, dropGroupsWithoutSignal: true }));

/**
 * ReMax (Li et al. 2023, https://arxiv.org/abs/2310.10505): REINFORCE with the reward of the greedy completion of the
 * same prompt as the baseline. It plays one more, greedy episode of each task.
 */
export const remax: AlgorithmDefinition = defineAlgorithm({
  id: "remax",
  description: "REINFORCE with the greedy episode as its baseline.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: greedyBaseline, policy: { type: "policyGradient" } }),
});
