import { z } from "zod";
import { actorCritic, withKlPenalty } from "../credit/index.ts";
import { type ActorCriticSettings, actorCriticSettings } from "./actor-critic-settings.ts";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { regularizers, updateSchedule } from "./group-algorithm.ts";
import { type ClipSettings, clipSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** The settings of PPO and IPPO, with defaults filled in. The schema below describes each one. */
export interface PpoSettings extends ActorCriticSettings, ClipSettings {
  readonly discount: number;
  readonly lambda: number;
}

/** Returns the schema keys of {@link PpoSettings}. */
export function ppoSettings(): SettingsShape<PpoSettings> {
  return {
    ...actorCriticSettings({ epochs: 2, minibatches: 2, critic: "shared" }),
    ...clipSettings({ low: 0.2, high: 0.2 }),
    discount: z.number().min(0).max(1).default(1).describe("Discount per token."),
    lambda: z
      .number()
      .min(0)
      .max(1)
      .default(0.95)
      .describe("Lambda of generalized advantage estimation. 0 relies on the critic, 1 on the rewards."),
  };
}

/**
 * Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with generalized advantage
 * estimation. Each token is a step. Its advantage is relative to the value that a critic predicted.
 */
export const ppo: AlgorithmDefinition = defineAlgorithm({
  id: "ppo",
  description: "Proximal policy optimization: each token is compared with the value that a critic predicted.",
  settings: z.strictObject(ppoSettings()),
  create: createPpo,
});

/** Creates PPO, for one agent or for each agent of a team. */
export function createPpo(settings: PpoSettings): Algorithm {
  const { clipLow, clipHigh, critic, valueWeight, valueClip, klIn, klWeight } = settings;
  const credit = actorCritic({
    gamma: settings.discount,
    lambda: settings.lambda,
    whiten: settings.whiten,
    critic: { type: critic, scope: "learner", learningRateScale: settings.criticLearningRateScale, clip: valueClip },
  });
  return {
    rollout: { actor: "policy", groupSize: settings.groupSize, dropGroupsWithoutSignal: false, resampleRounds: 0 },
    credit: klIn === "reward" ? withKlPenalty(credit, klWeight) : credit,
    loss: {
      terms: [
        { type: "ppo", clipLow, clipHigh },
        ...(critic === "shared" ? [{ type: "value", weight: valueWeight, clip: valueClip } as const] : []),
        ...regularizers(settings),
      ],
      aggregation: settings.lossAggregation,
    },
    updates: updateSchedule(settings),
    maskTruncated: settings.maskTruncated,
  };
}
