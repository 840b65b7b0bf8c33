import { z } from "zod";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import { type Credit, type CriticShape, withKlPenalty } from "../credit/index.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import type { Algorithm } from "./algorithm.ts";
import { regularizers, updateSchedule } from "./group-algorithm.ts";
import { divergenceSettings, type SettingsOf, updateSettings } from "./group-settings.ts";

/** The settings shared by all algorithms with a critic. The schema below describes each one. */
export type ActorCriticSettings = SettingsOf<typeof actorCriticSettings>;

/** Returns the schema keys of {@link ActorCriticSettings}, with the given defaults. */
export function actorCriticSettings(defaults: {
  readonly epochs: number;
  readonly minibatches: number;
  readonly critic: CriticShape["type"];
}) {
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

/** Returns the critic that the settings describe. */
export function criticShape(settings: ActorCriticSettings, scope: CriticShape["scope"]): CriticShape {
  const { critic, criticLearningRateScale, valueClip } = settings;
  return { type: critic, scope, learningRateScale: criticLearningRateScale, clip: valueClip };
}

/** Creates an algorithm with a critic from its credit and its policy loss. */
export function actorCriticAlgorithm(
  settings: ActorCriticSettings,
  parts: {
    readonly credit: Credit;
    readonly loss: Pick<Algorithm["loss"], "terms" | "stateValues">;
    readonly terminationThreshold?: number | undefined;
  },
): Algorithm {
  const { credit, loss, terminationThreshold } = parts;
  return {
    rollout: {
      actor: "policy",
      groupSize: settings.groupSize,
      dropGroupsWithoutSignal: false,
      resampleRounds: 0,
      terminationThreshold,
    },
    credit: settings.klIn === "reward" ? withKlPenalty(credit, settings.klWeight) : credit,
    loss: { ...loss, terms: [...loss.terms, ...regularizers(settings)], aggregation: settings.lossAggregation },
    updates: updateSchedule(settings),
    maskTruncated: settings.maskTruncated,
  };
}
