import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { turnCriticAlgorithm, turnCriticSettings } from "./turn-critic-algorithm.ts";

/**
 * Multi-agent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL). The team has one critic. It reads the prompt
 * of every agent and predicts the mean of the agents' rewards. Each agent acts on its own prompt alone.
 */
export const maac: AlgorithmDefinition = defineAlgorithm({
  id: "maac",
  description: "Actor-critic with one critic for the whole team; a step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 1 })),
  create: (given) => turnCriticAlgorithm(given, "team"),
});
