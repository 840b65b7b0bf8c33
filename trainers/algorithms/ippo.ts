import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { createPpo, type PpoSettings, ppoSettings } from "./ppo.ts";

/**
 * Independent PPO (de Witt et al. 2020, https://arxiv.org/abs/2011.09533): every agent is a PPO learner of its own, and
 * the others are a part of its environment. With one agent it is PPO.
 */
export const ippo: AlgorithmDefinition<PpoSettings> = defineAlgorithm({
  id: "ippo",
  description: "PPO for each agent of a team by itself.",
  settings: z.strictObject(ppoSettings()),
  create: createPpo,
});
