import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { type TurnCriticSettings, turnCriticAlgorithm, turnCriticSettings } from "./turn-critic-algorithm.ts";

/**
 * Independent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL): every agent has a critic of its own, and a turn
 * is compared with what that expected.
 */
export const iac: AlgorithmDefinition<TurnCriticSettings> = defineAlgorithm({
  id: "iac",
  description: "Actor-critic for each agent of a team by itself; a step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 0.9 })),
  create: (given) => turnCriticAlgorithm(given, "learner"),
});
