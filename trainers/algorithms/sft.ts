import { z } from "zod";
import type { LossAggregation } from "../losses/loss-aggregation.ts";
import { lossAggregationSchema } from "../losses/loss-aggregation-schema.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";

/** Settings of {@link sft}. */
export interface SftSettings {
  readonly lossAggregation?: LossAggregation;
}

/**
 * Supervised fine-tuning, or behavioural cloning: the environment's expert plays, and the model learns to predict
 * every token of its messages, the end-of-turn token included.
 */
export const sft: AlgorithmDefinition<SftSettings> = defineAlgorithm({
  id: "sft",
  description: "Supervised fine-tuning on the environment's demonstrations.",
  settings: z.strictObject({ lossAggregation: lossAggregationSchema.default("token-mean") }),
  create: ({ lossAggregation }) => ({
    rollout: { actor: "demonstration", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
    loss: { terms: [{ type: "crossEntropy" }], aggregation: lossAggregation },
    updates: { epochs: 1, minibatches: 1 },
  }),
});
