import { z } from "zod";
import { noBaseline } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ groupSize: 1, leastGroupSize: 1, dropGroupsWithoutSignal: false }));

/** REINFORCE (Williams 1992, https://doi.org/10.1007/BF00992696): the reward is the advantage, without a baseline. */
export const reinforce: AlgorithmDefinition = defineAlgorithm({
  id: "reinforce",
  description: "Each token is weighted by the reward of its episode. No baseline.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: noBaseline, policy: { type: "policyGradient" } }),
});
