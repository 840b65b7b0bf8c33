import { z } from "zod";
import { imitation } from "../credit/index.ts";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";

const settings = z.strictObject({
  actionWeight: z
    .number()
    .min(0)
    .default(1)
    .describe("Weight of what the expert said: behavioural cloning. 0 for a world model alone."),
  observationWeight: z
    .number()
    .min(0)
    .default(0)
    .describe("Weight of what the environment answered: above 0 the model learns to predict that too."),
  lossAggregation: lossAggregationSchema.default("token-mean"),
});

/** Settings of {@link sft}. */
export interface SftSettings {
  readonly actionWeight?: number;
  readonly observationWeight?: number;
  readonly lossAggregation?: LossAggregation;
}

/**
 * Supervised fine-tuning, or behavioural cloning: the environment's expert plays, and the model learns to predict
 * every token of its messages, the end-of-turn token included. With `observationWeight` it learns to predict the
 * environment's answers too, as a world model does.
 */
export const sft: AlgorithmDefinition<SftSettings> = defineAlgorithm({
  id: "sft",
  description: "Supervised fine-tuning on the environment's demonstrations.",
  settings,
  create: ({ actionWeight, observationWeight, lossAggregation }) => ({
    rollout: { actor: "demonstration", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
    credit: imitation({ actions: actionWeight, observations: observationWeight }),
    loss: { terms: [{ type: "crossEntropy" }], aggregation: lossAggregation },
    updates: { epochs: 1, minibatches: 1 },
    learnsFrom: "demonstrations",
  }),
});
