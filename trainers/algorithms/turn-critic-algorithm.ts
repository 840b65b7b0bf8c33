import { z } from "zod";
import { type CriticShape, turnCritic, withKlPenalty } from "../credit/index.ts";
import { type ActorCriticSettings, actorCriticSettings } from "./actor-critic-settings.ts";
import type { Algorithm } from "./algorithm.ts";
import { regularizers, updateSchedule } from "./group-algorithm.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings of IAC and MAAC, with defaults filled in. */
export interface TurnCriticSettings extends ActorCriticSettings {
  readonly discount: number;
  readonly criticInput: "v" | "q";
  readonly terminationThreshold: number | undefined;
}

/** Returns the schema keys of {@link TurnCriticSettings}, with the given defaults. */
export function turnCriticSettings(defaults: { readonly discount: number }): SettingsShape<TurnCriticSettings> {
  return {
    ...actorCriticSettings({ epochs: 1, minibatches: 1, critic: "separate" }),
    discount: z.number().min(0).max(1).default(defaults.discount).describe("Discount per turn."),
    criticInput: z
      .enum(["v", "q"])
      .default("v")
      .describe("What the critic reads. v: the prompt of a turn; q: the prompt and the completion."),
    terminationThreshold: z
      .number()
      .optional()
      .describe(
        "An episode ends after the turn whose mean reward over the agents exceeds this. Rewards are compared before reward processors change them.",
      ),
  };
}

/** Creates an actor-critic algorithm in which a step is a turn. */
export function turnCriticAlgorithm(settings: TurnCriticSettings, scope: CriticShape["scope"]): Algorithm {
  const { critic, valueWeight, valueClip, klIn, klWeight, terminationThreshold } = settings;
  const credit = turnCritic({
    discount: settings.discount,
    input: settings.criticInput,
    whiten: settings.whiten,
    critic: { type: critic, scope, learningRateScale: settings.criticLearningRateScale, clip: valueClip },
  });
  return {
    rollout: {
      actor: "policy",
      groupSize: settings.groupSize,
      dropGroupsWithoutSignal: false,
      resampleRounds: 0,
      terminationThreshold,
    },
    credit: klIn === "reward" ? withKlPenalty(credit, klWeight) : credit,
    loss: {
      terms: [{ type: "policyGradient" }, ...regularizers(settings)],
      aggregation: settings.lossAggregation,
      ...(critic === "shared" ? { stateValues: { type: "value", weight: valueWeight, clip: valueClip } } : {}),
    },
    updates: updateSchedule(settings),
    maskTruncated: settings.maskTruncated,
  };
}
