import { z } from "zod";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import { preferencePairs } from "../credit/index.ts";
import { dpo } from "../losses/dpo.ts";
import type { Algorithm } from "./algorithm.ts";
import { updateSchedule } from "./group-algorithm.ts";
import { updateSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings of DPO and MADPO, with defaults filled in. The schema below describes each one. */
export interface PreferenceSettings {
  readonly source: "policy" | "demonstrations";
  readonly groupSize: number;
  readonly pairs: "best-worst" | "all";
  readonly margin: number;
  readonly beta: number;
  readonly form: "sigmoid" | "hinge" | "ipo";
  readonly labelSmoothing: number;
  readonly referenceFree: boolean;
  readonly epochs: number;
  readonly minibatches: number;
}

/** Returns the schema keys of {@link PreferenceSettings}, with the given defaults. */
export function preferenceSettings(defaults: {
  readonly referenceFree: boolean;
  readonly groupSize: number;
}): SettingsShape<PreferenceSettings> {
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
export function preferenceAlgorithm(settings: PreferenceSettings, options: { readonly joint: boolean }): Algorithm {
  const { source, groupSize, pairs, margin, beta, form, labelSmoothing, referenceFree } = settings;
  return {
    rollout: {
      actor: source === "policy" ? "policy" : "demonstration",
      groupSize,
      dropGroupsWithoutSignal: true,
      resampleRounds: 0,
    },
    credit: preferencePairs({ pairs, margin, ...(options.joint ? { joint: { referenceFree } } : {}) }),
    loss: { terms: [], sequence: dpo({ beta, form, labelSmoothing, referenceFree }), aggregation: "token-mean" },
    updates: updateSchedule(settings),
    learnsFrom: "preferences",
  };
}
