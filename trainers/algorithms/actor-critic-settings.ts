import { z } from "zod";
import { mostAtOnce } from "../../src/core/rollout/rollout-options.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import { type DivergenceSettings, divergenceSettings, type UpdateSettings, updateSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings of every algorithm with a critic. Each is described in the schema below. */
export interface ActorCriticSettings extends DivergenceSettings, UpdateSettings {
  readonly groupSize: number;
  readonly critic: "shared" | "separate";
  readonly valueWeight: number;
  readonly valueClip: number | undefined;
  readonly criticLearningRateScale: number;
  readonly whiten: boolean;
  readonly lossAggregation: LossAggregation;
}

/** The keys of {@link ActorCriticSettings}. */
export function actorCriticSettings(defaults: {
  readonly epochs: number;
  readonly minibatches: number;
  readonly critic: ActorCriticSettings["critic"];
}): SettingsShape<ActorCriticSettings> {
  return {
    groupSize: z.int().min(1).max(mostAtOnce).default(1).describe("Episodes per task."),
    critic: z
      .enum(["shared", "separate"])
      .default(defaults.critic)
      .describe("shared: a value head on each policy; separate: a model of its own, of the same kind as the policy."),
    valueWeight: z.number().min(0).default(0.5).describe("Weight of the value loss, where the critic is shared."),
    valueClip: z
      .number()
      .positive()
      .optional()
      .describe("How far a value may move from the old one before its gradient is cut; not at all where absent."),
    criticLearningRateScale: z
      .number()
      .positive()
      .default(1)
      .describe("The learning rate of a separate critic, as a multiple of the policy's."),
    whiten: z
      .boolean()
      .default(true)
      .describe("Divide a batch's advantages by their standard deviation, once their mean is taken off."),
    ...divergenceSettings(),
    ...updateSettings(defaults),
    lossAggregation: lossAggregationSchema.default("token-mean"),
  };
}
