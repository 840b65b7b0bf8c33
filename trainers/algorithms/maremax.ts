import { z } from "zod";
import { groupMax } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings, teamDefaults } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ ...teamDefaults, dropGroupsWithoutSignal: true }));

/**
 * MAREMAX of CoMLRL (https://github.com/OpenMLRL/CoMLRL): MAGRPO with the best return of the group as the baseline. No
 * advantage is above 0, so an update can only lower the probability of completions.
 */
export const maremax: AlgorithmDefinition = defineAlgorithm({
  id: "maremax",
  description: "MAGRPO with the best of a group as its baseline.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: groupMax, policy: { type: "policyGradient" } }),
});
