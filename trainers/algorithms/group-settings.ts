import { z } from "zod";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";

/** The settings that a function's schema keys describe, with defaults filled in. */
export type SettingsOf<Keys extends (...defaults: never[]) => z.ZodRawShape> = z.output<z.ZodObject<ReturnType<Keys>>>;

/** The settings shared by all algorithms that compare the episodes of a group. */
export type GroupSettings = SettingsOf<typeof groupSettings>;

/** The settings that keep the policy close to the model at the start of the run. */
export type DivergenceSettings = SettingsOf<typeof divergenceSettings>;

/** The defaults in which the algorithms of this family differ. */
export interface GroupDefaults {
  readonly groupSize: number;
  /** The smallest group that can be compared. 2 by default. */
  readonly leastGroupSize?: number;
  /** True by default. */
  readonly dropGroupsWithoutSignal?: boolean;
  readonly resampleRounds?: number;
  readonly turnStructure?: "episodes" | "tree" | "handoff";
  readonly discount?: number;
  readonly creditBy?: "episode" | "turn";
  readonly lossAggregation?: LossAggregation;
}

/** Returns the schema keys of {@link GroupSettings}, with the given defaults. Spread them into a strict schema. */
export function groupSettings(defaults: GroupDefaults) {
  const { groupSize, leastGroupSize = 2, dropGroupsWithoutSignal = true, resampleRounds = 0 } = defaults;
  return {
    groupSize: z
      .int()
      .min(leastGroupSize, `must be ${leastGroupSize} or more: an episode is compared with the others of its group`)
      .max(maxConcurrency)
      .default(groupSize)
      .describe("Episodes per task. If joint actions branch: completions per agent and node."),
    dropGroupsWithoutSignal: z
      .boolean()
      .default(dropGroupsWithoutSignal)
      .describe("Leave out groups whose advantages are all 0."),
    resampleRounds: z
      .int()
      .min(0)
      .default(resampleRounds)
      .describe("How many more rounds of tasks may be played to replace dropped groups (dynamic sampling)."),
    ...turnSettings(defaults),
    ...divergenceSettings(),
    ...updateSettings(),
    lossAggregation: lossAggregationSchema.default(defaults.lossAggregation ?? "token-mean"),
  };
}

function turnSettings({ turnStructure = "episodes", discount = 1, creditBy = "episode" }: GroupDefaults) {
  return {
    turnStructure: z
      .enum(["episodes", "tree", "handoff"])
      .default(turnStructure)
      .describe(
        "episodes: each episode is independent; tree: every joint action is continued; handoff: one joint action of a turn is continued.",
      ),
    jointMode: z
      .enum(["align", "cross"])
      .default("align")
      .describe(
        "Which completions of several agents form a joint action. align: those of equal index; cross: every combination.",
      ),
    crossReturn: z
      .enum(["mean", "sum"])
      .default("mean")
      .describe("With cross: how the returns of a completion's joint actions are combined."),
    handoff: z
      .enum(["random", "best", "randomIndependent"])
      .default("random")
      .describe(
        "With handoff: which joint action is continued. randomIndependent picks the completion of each agent separately.",
      ),
    discount: z
      .number()
      .min(0)
      .max(1)
      .default(discount)
      .describe("Discount per turn: the factor by which a reward of the next turn counts in this turn."),
    creditBy: z
      .enum(["episode", "turn"])
      .default(creditBy)
      .describe(
        "With turnStructure episodes: credit each turn with the whole reward (episode), or with the rewards from that turn on (turn).",
      ),
    turnWeights: z
      .array(z.number().min(0))
      .min(1)
      .optional()
      .describe("Multiplies the loss of each turn. One number per turn of the environment."),
    terminationThreshold: z
      .number()
      .optional()
      .describe("If joint actions branch: a node whose mean reward exceeds this is the last of its branch."),
    terminationWeight: z
      .number()
      .min(0)
      .default(1)
      .describe("Multiplies the loss of a node that terminationThreshold ended."),
    maxNodes: z
      .int()
      .min(1)
      .default(1000)
      .describe("The largest number of nodes of a tree. A run that may need more is refused."),
    whiten: z
      .boolean()
      .default(false)
      .describe("Subtract the mean from a batch's advantages and divide them by their standard deviation."),
  };
}

/** Returns the schema keys of the settings that keep the policy close to the model at the start of the run. */
export function divergenceSettings() {
  return {
    klWeight: z
      .number()
      .min(0)
      .default(0)
      .describe("Weight of the KL divergence from the model at the start. With 0, no reference model is opened."),
    klIn: z
      .enum(["loss", "reward"])
      .default("loss")
      .describe("loss: the divergence is a term of the loss; reward: it is subtracted from the rewards."),
    klEstimator: z.enum(["k1", "k2", "k3"]).default("k3").describe("The estimator of the KL divergence in the loss."),
    entropyWeight: z.number().min(0).default(0).describe("Weight of the entropy bonus."),
  };
}

/** Returns the schema keys of the updates on one batch, with the given defaults. */
export function updateSettings(defaults: { readonly epochs?: number; readonly minibatches?: number } = {}) {
  const { epochs = 1, minibatches = 1 } = defaults;
  return {
    epochs: z.int().min(1).default(epochs).describe("Passes over each batch of episodes."),
    minibatches: z.int().min(1).default(minibatches).describe("Optimizer steps per pass."),
    targetKl: z
      .number()
      .positive()
      .optional()
      .describe("Stop the updates on a batch if the KL divergence from the policy that sampled it exceeds this."),
    maskTruncated: z
      .boolean()
      .default(false)
      .describe(
        "Exclude episodes with a cut-off completion (at sampling.maxTokens) from the loss. Their rewards still count for the baseline.",
      ),
    importanceCap: z
      .number()
      .positive()
      .optional()
      .describe(
        "Correct for a sampler that differs from the trainer by importance ratios. The ratios are capped at this value.",
      ),
  };
}

/** Returns the schema keys of the clip range (how far a probability ratio may move from 1 before its gradient is clipped), with the given defaults. */
export function clipSettings(defaults: { readonly low: number; readonly high: number }) {
  return {
    clipLow: z
      .number()
      .min(0)
      .max(1)
      .default(defaults.low)
      .describe("How far a probability ratio may fall below 1 before it is clipped."),
    clipHigh: z
      .number()
      .min(0)
      .default(defaults.high)
      .describe("How far a probability ratio may rise above 1 before it is clipped."),
  };
}
