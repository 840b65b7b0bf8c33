import { z } from "zod";
import { noBaseline } from "../advantages/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { groupSettings, teamDefaults } from "./group-settings.ts";

const settings = z.strictObject(groupSettings({ ...teamDefaults, leastGroupSize: 1, dropGroupsWithoutSignal: false }));

/**
 * Multi-agent REINFORCE (CoMLRL, https://github.com/OpenMLRL/CoMLRL). Each agent's completions are weighted by their
 * returns, without a baseline.
 */
export const mareinforce: AlgorithmDefinition = defineAlgorithm({
  id: "mareinforce",
  description:
    "REINFORCE for a team: each agent weights its completions by the returns of the joint actions they were part of.",
  settings,
  create: (group) => groupAlgorithm(group, { estimator: noBaseline, policy: { type: "policyGradient" } }),
});
