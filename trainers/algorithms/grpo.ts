import { z } from "zod";
import { advantageEstimator, advantageEstimators } from "../advantages/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { KlEstimator } from "../losses/kl.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";

/** Settings of {@link grpo}. What each means is written beside its default below. */
export interface GrpoSettings {
  readonly groupSize?: number;
  readonly advantage?: string;
  readonly clipLow?: number;
  readonly clipHigh?: number;
  readonly klWeight?: number;
  readonly klEstimator?: KlEstimator;
  readonly epochs?: number;
  readonly minibatches?: number;
  readonly dropGroupsWithoutSignal?: boolean;
  readonly resampleRounds?: number;
  readonly lossAggregation?: LossAggregation;
}

/**
 * Group relative policy optimization (Shao et al. 2024, https://arxiv.org/abs/2402.03300): several episodes of each
 * task, each compared with its group, and PPO's clipped loss.
 */
export const grpo: AlgorithmDefinition<GrpoSettings> = defineAlgorithm({
  id: "grpo",
  description: "Group relative policy optimization: episodes of one task compared with one another.",
  settings: z.strictObject({
    groupSize: z.int().min(2).default(8).describe("Episodes per task."),
    advantage: z
      .enum(advantageEstimators.map((estimator) => estimator.id))
      .default("group-z-score")
      .describe("What a reward is compared with."),
    clipLow: z.number().min(0).max(1).default(0.2).describe("How far a probability ratio may fall below 1."),
    clipHigh: z.number().min(0).default(0.2).describe("How far a probability ratio may rise above 1."),
    klWeight: z
      .number()
      .min(0)
      .default(0)
      .describe("Weight of the KL divergence to the model at the start; 0 opens no reference model."),
    klEstimator: z.enum(["k1", "k2", "k3"]).default("k3").describe("How the KL divergence is estimated."),
    epochs: z.int().min(1).default(1).describe("Passes over each batch of episodes."),
    minibatches: z.int().min(1).default(1).describe("Optimizer steps per pass."),
    dropGroupsWithoutSignal: z.boolean().default(true).describe("Leave out groups whose rewards are all equal."),
    resampleRounds: z
      .int()
      .min(0)
      .default(0)
      .describe("How often more tasks are played to replace dropped groups (dynamic sampling)."),
    lossAggregation: lossAggregationSchema.default("token-mean"),
  }),
  create: (settings) => {
    const terms: LossTerm[] = [{ type: "ppo", clipLow: settings.clipLow, clipHigh: settings.clipHigh }];
    if (settings.klWeight > 0) terms.push({ type: "kl", estimator: settings.klEstimator, weight: settings.klWeight });
    return {
      rollout: {
        actor: "policy",
        groupSize: settings.groupSize,
        dropGroupsWithoutSignal: settings.dropGroupsWithoutSignal,
        resampleRounds: settings.resampleRounds,
      },
      advantage: advantageEstimator(settings.advantage),
      loss: { terms, aggregation: settings.lossAggregation },
      updates: { epochs: settings.epochs, minibatches: settings.minibatches },
    };
  },
});
