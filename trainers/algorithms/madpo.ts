import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { preferenceAlgorithm, preferenceSettings } from "./preference-algorithm.ts";

/**
 * Multi-agent DPO (CoMLRL, https://github.com/OpenMLRL/CoMLRL). It ranks joint actions by the team's reward and
 * minimises -log sigma(beta x the sum of the agents' margins). Each agent's update changes only its own margin.
 */
export const madpo: AlgorithmDefinition = defineAlgorithm({
  id: "madpo",
  description: "DPO for a team: preferences between joint actions.",
  settings: z.strictObject(preferenceSettings({ referenceFree: true, groupSize: 4 })),
  create: (given) => preferenceAlgorithm(given, { joint: true }),
});
