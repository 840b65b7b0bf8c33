import { z } from "zod";
import { leaveOneOut } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ groupSize: 4, dropGroupsWithoutSignal: true }));

/**
 * RLOO (Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740): REINFORCE with the mean of the group's other episodes
 * as the baseline.
 */
export const rloo: AlgorithmDefinition = defineAlgorithm({
  id: "rloo",
  description: "REINFORCE with the mean of the other episodes as its baseline.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: leaveOneOut, policy: { type: "policyGradient" } }),
});
