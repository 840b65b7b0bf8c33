import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { createPpo, ppoSettings } from "./ppo.ts";

/**
 * Independent PPO (de Witt et al. 2020, https://arxiv.org/abs/2011.09533). Each agent is a PPO learner of its own. The
 * other agents are part of its environment. With one agent, it equals PPO.
 */
export const ippo: AlgorithmDefinition = defineAlgorithm({
  id: "ippo",
  description: "Independent PPO: each agent of a team learns by PPO on its own.",
  settings: z.strictObject(ppoSettings()),
  create: createPpo,
});
