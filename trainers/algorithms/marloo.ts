import { z } from "zod";
import { leaveOneOut } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings, teamDefaults } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ ...teamDefaults, dropGroupsWithoutSignal: true }));

/**
 * Multi-agent RLOO (CoMLRL, https://github.com/OpenMLRL/CoMLRL): MAGRPO with the mean of the other completions as the
 * baseline.
 */
export const marloo: AlgorithmDefinition = defineAlgorithm({
  id: "marloo",
  description: "RLOO for a team: the baseline is the mean of the agent's other completions.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: leaveOneOut, policy: { type: "policyGradient" } }),
});
