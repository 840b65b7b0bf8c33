import { z } from "zod";
import { mostAtOnce } from "../../src/core/rollout/rollout-options.ts";
import type { KlEstimator } from "../losses/kl.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings of every algorithm that compares episodes. Each is described in the schema below. */
export interface GroupSettings extends TurnSettings, DivergenceSettings, UpdateSettings {
  readonly groupSize: number;
  readonly dropGroupsWithoutSignal: boolean;
  readonly resampleRounds: number;
  readonly lossAggregation: LossAggregation;
}

/** Over several turns and agents: which joint actions there are, what follows them, and how turns are weighed. */
export interface TurnSettings {
  readonly turnStructure: "episodes" | "tree" | "handoff";
  readonly jointMode: "align" | "cross";
  readonly crossReturn: "mean" | "sum";
  readonly handoff: "random" | "best" | "randomIndependent";
  readonly discount: number;
  readonly creditBy: "episode" | "turn";
  readonly turnWeights: readonly number[] | undefined;
  readonly terminationThreshold: number | undefined;
  readonly terminationWeight: number;
  readonly maxNodes: number;
  readonly whiten: boolean;
}

/** How the policy is held near the model that it was at the start. */
export interface DivergenceSettings {
  readonly klWeight: number;
  readonly klIn: "loss" | "reward";
  readonly klEstimator: KlEstimator;
  readonly entropyWeight: number;
}

/** How often a batch is learned from. */
export interface UpdateSettings {
  readonly epochs: number;
  readonly minibatches: number;
  readonly targetKl: number | undefined;
  readonly maskTruncated: boolean | undefined;
  readonly importanceCap: number | undefined;
}

/** How far a probability ratio may move before its gradient is cut. */
export interface ClipSettings {
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** Defaults that tell the algorithms of a family apart. */
export interface GroupDefaults {
  readonly groupSize: number;
  /** The fewest episodes that can be compared. */
  readonly leastGroupSize?: number;
  readonly dropGroupsWithoutSignal: boolean;
  readonly resampleRounds?: number;
  readonly turnStructure?: "episodes" | "tree" | "handoff";
  readonly discount?: number;
  readonly creditBy?: "episode" | "turn";
  readonly lossAggregation?: "token-mean" | "sequence-mean" | { readonly fixedLength: number };
}

/** Defaults of the algorithms for teams: joint actions branch, and each turn is weighed by what came from it on. */
export const teamDefaults = {
  groupSize: 4,
  turnStructure: "tree",
  discount: 0.9,
  creditBy: "turn",
} as const;

/** The settings that every algorithm has which compares episodes, as keys of a strict schema. */
export function groupSettings(defaults: GroupDefaults): SettingsShape<GroupSettings> {
  const { groupSize, leastGroupSize = 2, dropGroupsWithoutSignal, resampleRounds = 0 } = defaults;
  return {
    groupSize: z
      .int()
      .min(leastGroupSize, `must be ${leastGroupSize} or more: an episode is compared with the others of its group`)
      .max(mostAtOnce)
      .default(groupSize)
      .describe("Episodes per task; where joint actions branch, completions per agent and node."),
    dropGroupsWithoutSignal: z
      .boolean()
      .default(dropGroupsWithoutSignal)
      .describe("Leave out groups whose advantages are all 0."),
    resampleRounds: z
      .int()
      .min(0)
      .default(resampleRounds)
      .describe("How often more tasks are played to replace dropped groups (dynamic sampling)."),
    ...turnSettings(defaults),
    ...divergenceSettings(),
    ...updateSettings(),
    lossAggregation: lossAggregationSchema.default(defaults.lossAggregation ?? "token-mean"),
  };
}

function turnSettings({
  turnStructure = "episodes",
  discount = 1,
  creditBy = "episode",
}: GroupDefaults): SettingsShape<TurnSettings> {
  return {
    turnStructure: z
      .enum(["episodes", "tree", "handoff"])
      .default(turnStructure)
      .describe(
        "episodes: each goes on by itself; tree: every joint action branches; handoff: one joint action is handed on.",
      ),
    jointMode: z
      .enum(["align", "cross"])
      .default("align")
      .describe("Which completions of several agents act together: those of equal index, or every combination."),
    crossReturn: z
      .enum(["mean", "sum"])
      .default("mean")
      .describe("Under cross, how the returns of a completion's joint actions become one."),
    handoff: z
      .enum(["random", "best", "randomIndependent"])
      .default("random")
      .describe("Under handoff, which joint action goes on; randomIndependent picks each agent's completion apart."),
    discount: z.number().min(0).max(1).default(discount).describe("What a reward of the next turn counts in this one."),
    creditBy: z
      .enum(["episode", "turn"])
      .default(creditBy)
      .describe("Of episodes: weigh every turn by the whole reward, or each by what came from it on."),
    turnWeights: z
      .array(z.number().min(0))
      .min(1)
      .optional()
      .describe("Multiplies the loss of each turn; one number per turn of the environment."),
    terminationThreshold: z
      .number()
      .optional()
      .describe("Where joint actions branch: a node whose mean reward exceeds it is the last of its branch."),
    terminationWeight: z.number().min(0).default(1).describe("Multiplies the loss of such a node."),
    maxNodes: z.int().min(1).default(1000).describe("The most nodes that a tree may have; more are refused."),
    whiten: z
      .boolean()
      .default(false)
      .describe("Divide a batch's advantages by their standard deviation, once their mean is taken off."),
  };
}

/** The keys of {@link DivergenceSettings}. */
export function divergenceSettings(): SettingsShape<DivergenceSettings> {
  return {
    klWeight: z
      .number()
      .min(0)
      .default(0)
      .describe("Weight of the KL divergence to the model at the start; 0 opens no reference model."),
    klIn: z
      .enum(["loss", "reward"])
      .default("loss")
      .describe("Whether the divergence is a term of the loss or is taken off the rewards."),
    klEstimator: z.enum(["k1", "k2", "k3"]).default("k3").describe("How the KL divergence is estimated in the loss."),
    entropyWeight: z.number().min(0).default(0).describe("Weight of a bonus for entropy."),
  };
}

/** The keys of {@link UpdateSettings}. */
export function updateSettings(
  defaults: { readonly epochs?: number; readonly minibatches?: number } = {},
): SettingsShape<UpdateSettings> {
  const { epochs = 1, minibatches = 1 } = defaults;
  return {
    epochs: z.int().min(1).default(epochs).describe("Passes over each batch of episodes."),
    minibatches: z.int().min(1).default(minibatches).describe("Optimizer steps per pass."),
    targetKl: z
      .number()
      .positive()
      .optional()
      .describe("Learn no more from a batch once the policy is so far from the one that sampled it."),
    maskTruncated: z
      .boolean()
      .optional()
      .describe(
        "Learn nothing from episodes in which sampling.maxTokens cut off a completion; their rewards still count for the baseline. false when absent.",
      ),
    importanceCap: z
      .number()
      .positive()
      .optional()
      .describe("Correct for a sampler that differs from the trainer, by ratios of at most this."),
  };
}

/** The keys of {@link ClipSettings}. */
export function clipSettings(defaults: { readonly low: number; readonly high: number }): SettingsShape<ClipSettings> {
  return {
    clipLow: z.number().min(0).max(1).default(defaults.low).describe("How far a probability ratio may fall below 1."),
    clipHigh: z.number().min(0).default(defaults.high).describe("How far a probability ratio may rise above 1."),
  };
}
