import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { type TurnCriticSettings, turnCriticAlgorithm, turnCriticSettings } from "./turn-critic-algorithm.ts";

/**
 * Multi-agent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL): one critic for the team, which reads every
 * agent's prompt and predicts the mean of what the agents earn. Agents act by themselves.
 */
export const maac: AlgorithmDefinition<TurnCriticSettings> = defineAlgorithm({
  id: "maac",
  description: "Actor-critic with one critic for the whole team; a step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 1 })),
  create: (given) => turnCriticAlgorithm(given, "team"),
});
