import { z } from "zod";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import { preferencePairs } from "../credit/index.ts";
import { dpo as dpoLoss } from "../losses/dpo.ts";
import { type Algorithm, type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";
import { updateSchedule } from "./group-algorithm.ts";
import { type SettingsOf, updateSettings } from "./group-settings.ts";

/** Returns the schema keys of DPO and MADPO, with the given defaults. */
function preferenceSettings(defaults: { readonly referenceFree: boolean; readonly groupSize: number }) {
  const { epochs, minibatches } = updateSettings();
  return {
    source: z
      .enum(["policy", "demonstrations"])
      .default("policy")
      .describe("Whose episodes are ranked: the policy's, or those of an expert, such as a preference file."),
    groupSize: z
      .int()
      .min(2)
      .max(maxConcurrency)
      .default(defaults.groupSize)
      .describe("Episodes per task. A preference is a pair of them."),
    pairs: z
      .enum(["best-worst", "all"])
      .default("best-worst")
      .describe("best-worst: one pair per group; all: each pair of episodes with different rewards."),
    margin: z.number().min(0).default(0).describe("The smallest difference of rewards that makes a preference."),
    beta: z
      .number()
      .positive()
      .default(0.1)
      .describe("How strongly the policy is kept close to the reference. Higher values keep it closer."),
    form: z.enum(["sigmoid", "hinge", "ipo"]).default("sigmoid").describe("The loss as a function of the margin."),
    labelSmoothing: z
      .number()
      .min(0)
      .max(0.5)
      .default(0)
      .describe("The probability that a preference is the wrong way round. For sigmoid only."),
    referenceFree: z
      .boolean()
      .default(defaults.referenceFree)
      .describe("Leave the reference out, as if it gave every answer the same probability."),
    epochs,
    minibatches,
  };
}

/** Creates an algorithm that learns which of two episodes is better. With `joint`, it ranks joint actions of a team. */
function preferenceAlgorithm(
  settings: SettingsOf<typeof preferenceSettings>,
  options: { readonly joint: boolean },
): Algorithm {
  const { source, groupSize, pairs, margin, beta, form, labelSmoothing, referenceFree } = settings;
  return {
    rollout: {
      actor: source === "policy" ? "policy" : "demonstration",
      groupSize,
      dropGroupsWithoutSignal: true,
      resampleRounds: 0,
    },
    credit: preferencePairs({ pairs, margin, ...(options.joint ? { joint: { referenceFree } } : {}) }),
    loss: { terms: [], sequence: dpoLoss({ beta, form, labelSmoothing, referenceFree }), aggregation: "token-mean" },
    updates: updateSchedule(settings),
    learnsFrom: "preferences",
  };
}

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
