import { z } from "zod";
import { actorCritic, withKlPenalty } from "../credit/index.ts";
import { type ActorCriticSettings, actorCriticSettings } from "./actor-critic-settings.ts";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { regularisers, updateSchedule } from "./group-algorithm.ts";
import { type ClipSettings, clipSettings } from "./group-settings.ts";
import type { SettingsShape } from "./settings-shape.ts";

/** Settings of PPO and IPPO with their defaults filled in. Each is described in the schema below. */
export interface FullPpoSettings extends ActorCriticSettings, ClipSettings {
  readonly discount: number;
  readonly lambda: number;
}

/** Settings of {@link ppo} and of IPPO. */
export type PpoSettings = Partial<FullPpoSettings>;

/** The keys of {@link FullPpoSettings}. */
export function ppoSettings(): SettingsShape<FullPpoSettings> {
  return {
    ...actorCriticSettings({ epochs: 2, minibatches: 2, critic: "shared" }),
    ...clipSettings({ low: 0.2, high: 0.2 }),
    discount: z.number().min(0).max(1).default(1).describe("Discount per token."),
    lambda: z
      .number()
      .min(0)
      .max(1)
      .default(0.95)
      .describe("Of generalized advantage estimation: 0 trusts the critic, 1 the rewards."),
  };
}

/**
 * Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with generalized advantage
 * estimation: each token is a step, compared with what a critic expected.
 */
export const ppo: AlgorithmDefinition<PpoSettings> = defineAlgorithm({
  id: "ppo",
  description: "Proximal policy optimization: tokens compared with what a critic expected.",
  settings: z.strictObject(ppoSettings()),
  create: createPpo,
});

/** PPO of these settings: of one agent, or of each by itself. */
export function createPpo(settings: FullPpoSettings): Algorithm {
  const { clipLow, clipHigh, critic, valueWeight, valueClip, klIn, klWeight } = settings;
  const credit = actorCritic({
    gamma: settings.discount,
    lambda: settings.lambda,
    whiten: settings.whiten,
    critic: {
      type: critic,
      scope: "learner",
      learningRateScale: settings.criticLearningRateScale,
      ...(valueClip === undefined ? {} : { clip: valueClip }),
    },
  });
  return {
    rollout: { actor: "policy", groupSize: settings.groupSize, dropGroupsWithoutSignal: false, resampleRounds: 0 },
    credit: klIn === "reward" ? withKlPenalty(credit, klWeight) : credit,
    loss: {
      terms: [
        { type: "ppo", clipLow, clipHigh },
        ...(critic === "shared"
          ? [{ type: "value", weight: valueWeight, ...(valueClip === undefined ? {} : { clip: valueClip }) } as const]
          : []),
        ...regularisers(settings),
      ],
      aggregation: settings.lossAggregation,
    },
    updates: updateSchedule(settings),
    maskTruncated: settings.maskTruncated === true,
  };
}
