import { z } from "zod";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import { type DivergenceSettings, divergenceSettings, type UpdateSettings, updateSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings shared by all algorithms with a critic. The schema below describes each one. */
export interface ActorCriticSettings extends DivergenceSettings, UpdateSettings {
  readonly groupSize: number;
  readonly critic: "shared" | "separate";
  readonly valueWeight: number;
  readonly valueClip: number | undefined;
  readonly criticLearningRateScale: number;
  readonly whiten: boolean;
  readonly lossAggregation: LossAggregation;
}

/** Returns the schema keys of {@link ActorCriticSettings}, with the given defaults. */
export function actorCriticSettings(defaults: {
  readonly epochs: number;
  readonly minibatches: number;
  readonly critic: ActorCriticSettings["critic"];
}): SettingsShape<ActorCriticSettings> {
  return {
    groupSize: z.int().min(1).max(maxConcurrency).default(1).describe("Episodes per task."),
    critic: z
      .enum(["shared", "separate"])
      .default(defaults.critic)
      .describe("shared: a value head on each policy; separate: a second model of the same kind as the policy."),
    valueWeight: z.number().min(0).default(0.5).describe("Weight of the value loss, if the critic is shared."),
    valueClip: z
      .number()
      .positive()
      .optional()
      .describe("How far a value may move from its old value before its gradient is clipped. No clipping when absent."),
    criticLearningRateScale: z
      .number()
      .positive()
      .default(1)
      .describe("The learning rate of a separate critic, as a multiple of the policy's learning rate."),
    whiten: z
      .boolean()
      .default(true)
      .describe("Subtract the mean from a batch's advantages and divide them by their standard deviation."),
    ...divergenceSettings(),
    ...updateSettings(defaults),
    lossAggregation: lossAggregationSchema.default("token-mean"),
  };
}
