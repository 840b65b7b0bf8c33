import { z } from "zod";
import { imitation } from "../credit/index.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import { type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";

const settings = z.strictObject({
  actionWeight: z
    .number()
    .min(0)
    .default(1)
    .describe("Weight of the expert's messages (behavioural cloning). 0 to train a world model alone."),
  observationWeight: z
    .number()
    .min(0)
    .default(0)
    .describe("Weight of the environment's messages. Above 0, the model learns to predict them too, as a world model."),
  lossAggregation: lossAggregationSchema.default("token-mean"),
});

/**
 * Supervised fine-tuning (behavioural cloning). The environment's expert plays, and the model learns to predict every
 * token of the expert's messages, including the end-of-turn token. With `observationWeight`, it also learns to predict
 * the environment's messages, as a world model does.
 */
export const sft: AlgorithmDefinition = defineAlgorithm({
  id: "sft",
  description: "Supervised fine-tuning on the environment's demonstrations.",
  settings,
  create: ({ actionWeight, observationWeight, lossAggregation }) => ({
    rollout: { actor: "demonstration", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
    credit: imitation({ actions: actionWeight, observations: observationWeight }),
    loss: { terms: [{ type: "crossEntropy" }], aggregation: lossAggregation },
    updates: { epochs: 1, minibatches: 1 },
    learnsFrom: "demonstrations",
    problemWith: ({ maxTurns }) => {
      if (actionWeight > 0) return undefined;
      if (observationWeight === 0) {
        return "algorithm.actionWeight and algorithm.observationWeight are 0, so that no message is learnt";
      }
      return maxTurns > 1
        ? undefined
        : "algorithm.actionWeight is 0, and its episodes of one turn have no later message of the environment to predict";
    },
  }),
});
