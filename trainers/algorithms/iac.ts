import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { turnCriticAlgorithm, turnCriticSettings } from "./turn-critic-algorithm.ts";

/**
 * Independent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL). Each agent has its own critic. A turn is
 * compared with the value that the critic predicted.
 */
export const iac: AlgorithmDefinition = defineAlgorithm({
  id: "iac",
  description: "Independent actor-critic: each agent of a team has its own critic. A step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 0.9 })),
  create: (given) => turnCriticAlgorithm(given, "learner"),
});
