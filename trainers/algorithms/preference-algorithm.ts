import { z } from "zod";
import { mostAtOnce } from "../../src/core/rollout/rollout-options.ts";
import { preferencePairs } from "../credit/index.ts";
import { dpo } from "../losses/dpo.ts";
import type { Algorithm } from "./algorithm.ts";
import { updateSchedule } from "./group-algorithm.ts";
import { updateSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** Settings of DPO and MADPO with their defaults filled in. Each is described in the schema below. */
export interface FullPreferenceSettings {
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

/** Settings of DPO and MADPO. */
export type PreferenceSettings = Partial<FullPreferenceSettings>;

/** The keys of {@link FullPreferenceSettings}. */
export function preferenceSettings(defaults: {
  readonly referenceFree: boolean;
  readonly groupSize: number;
}): SettingsShape<FullPreferenceSettings> {
  const { epochs, minibatches } = updateSettings();
  return {
    source: z
      .enum(["policy", "demonstrations"])
      .default("policy")
      .describe("Whose episodes are ranked: the policy's, or an expert's, such as those of a preference file."),
    groupSize: z
      .int()
      .min(2)
      .max(mostAtOnce)
      .default(defaults.groupSize)
      .describe("Episodes per task; a preference is a pair of them."),
    pairs: z
      .enum(["best-worst", "all"])
      .default("best-worst")
      .describe("One pair of each group, or every two episodes of different reward."),
    margin: z.number().min(0).default(0).describe("The least difference of rewards that makes a preference."),
    beta: z.number().positive().default(0.1).describe("How firmly the policy is held to its reference."),
    form: z.enum(["sigmoid", "hinge", "ipo"]).default("sigmoid").describe("The loss of a margin."),
    labelSmoothing: z
      .number()
      .min(0)
      .max(0.5)
      .default(0)
      .describe("The probability that a preference is the wrong way round; sigmoid only."),
    referenceFree: z
      .boolean()
      .default(defaults.referenceFree)
      .describe("Leave the reference out: every answer is as likely to it."),
    epochs,
    minibatches,
  };
}

/** An algorithm that learns from which of two episodes is better. */
export function preferenceAlgorithm(settings: FullPreferenceSettings, options: { readonly joint: boolean }): Algorithm {
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
