import { z } from "zod";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { preferenceAlgorithm, preferenceSettings } from "./preference-algorithm.ts";

/**
 * Direct preference optimization (Rafailov et al. 2023, https://arxiv.org/abs/2305.18290). Online, it ranks the
 * policy's own episodes of a task by their reward. Offline, an environment such as `preferences` demonstrates both
 * answers.
 */
export const dpo: AlgorithmDefinition = defineAlgorithm({
  id: "dpo",
  description: "Direct preference optimization, from a preference file or from the policy's own ranked episodes.",
  settings: z.strictObject(preferenceSettings({ referenceFree: false, groupSize: 2 })),
  create: (given) => preferenceAlgorithm(given, { joint: false }),
});
