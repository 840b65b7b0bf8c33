import { z } from "zod";
import { groupMean } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings, teamDefaults } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ ...teamDefaults, dropGroupsWithoutSignal: true }));

/**
 * Multi-agent GRPO (Liu et al. 2025, https://arxiv.org/abs/2508.04652), for agents that share a reward. Each agent
 * compares its completions with their mean return. No ratio, no clipping, no division by the standard deviation.
 */
export const magrpo: AlgorithmDefinition = defineAlgorithm({
  id: "magrpo",
  description:
    "Multi-agent GRPO: each agent compares its completions by the returns of the joint actions they were part of.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: groupMean, policy: { type: "policyGradient" } }),
});
