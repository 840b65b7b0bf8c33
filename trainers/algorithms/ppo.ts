import { z } from "zod";
import { actorCritic } from "../credit/index.ts";
import { actorCriticAlgorithm, actorCriticSettings, criticShape } from "./actor-critic.ts";
import { type Algorithm, type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";
import { clipSettings, type SettingsOf } from "./group-settings.ts";

/** Returns the schema keys of PPO and IPPO. */
function ppoSettings() {
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

/**
 * Independent PPO (de Witt et al. 2020, https://arxiv.org/abs/2011.09533). Each agent is a PPO learner of its own. The
 * other agents are part of its environment. With one agent, it equals PPO.
 */
export const ippo: AlgorithmDefinition = defineAlgorithm({
  id: "ippo",
  description: "Independent PPO: each agent of a team learns by PPO on its own.",
  settings: z.strictObject(ppoSettings()),
  create: createPpo,
});

function createPpo(settings: SettingsOf<typeof ppoSettings>): Algorithm {
  const { discount, lambda, whiten, clipLow, clipHigh, critic, valueWeight, valueClip } = settings;
  return actorCriticAlgorithm(settings, {
    credit: actorCritic({ gamma: discount, lambda, whiten, critic: criticShape(settings, "learner") }),
    loss: {
      terms: [
        { type: "ppo", clipLow, clipHigh },
        ...(critic === "shared" ? [{ type: "value", weight: valueWeight, clip: valueClip } as const] : []),
      ],
    },
  });
}
