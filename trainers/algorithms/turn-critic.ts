import { z } from "zod";
import { type CriticShape, turnCritic } from "../credit/index.ts";
import { actorCriticAlgorithm, actorCriticSettings, criticShape } from "./actor-critic.ts";
import { type Algorithm, type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";
import type { SettingsOf } from "./group-settings.ts";

/** Returns the schema keys of IAC and MAAC, with the given default. */
function turnCriticSettings(defaults: { readonly discount: number }) {
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

/**
 * Independent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL). Each agent has its own critic. A turn is
 * compared with the value that the critic predicted.
 */
export const iac: AlgorithmDefinition = defineAlgorithm({
  id: "iac",
  description: "Independent actor-critic: each agent of a team has its own critic. A step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 0.9 })),
  create: (given) => turnCriticAlgorithm(given, "learner"),
});

/**
 * Multi-agent actor-critic (CoMLRL, https://github.com/OpenMLRL/CoMLRL). The team has one critic. It reads the prompt
 * of every agent and predicts the mean of the agents' rewards. Each agent acts on its own prompt alone.
 */
export const maac: AlgorithmDefinition = defineAlgorithm({
  id: "maac",
  description: "Actor-critic with one critic for the whole team; a step is a turn.",
  settings: z.strictObject(turnCriticSettings({ discount: 1 })),
  create: (given) => turnCriticAlgorithm(given, "team"),
});

/** Creates an actor-critic algorithm in which a step is a turn. */
function turnCriticAlgorithm(settings: SettingsOf<typeof turnCriticSettings>, scope: CriticShape["scope"]): Algorithm {
  const { discount, criticInput, whiten, critic, valueWeight, valueClip, terminationThreshold } = settings;
  return actorCriticAlgorithm(settings, {
    credit: turnCritic({ discount, input: criticInput, whiten, critic: criticShape(settings, scope) }),
    loss: {
      terms: [{ type: "policyGradient" }],
      ...(critic === "shared" ? { stateValues: { type: "value", weight: valueWeight, clip: valueClip } } : {}),
    },
    terminationThreshold,
  });
}
