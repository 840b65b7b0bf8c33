import { z } from "zod";
import type { LossAggregation } from "./loss-aggregation.ts";

/** {@link LossAggregation} as a config value. */
export const lossAggregationSchema: z.ZodType<LossAggregation, LossAggregation> = z
  .union([
    z.enum(["token-mean", "sequence-mean"]),
    z.strictObject({
      fixedLength: z.number().positive().describe("The tokens that every sequence's sum is divided by."),
    }),
  ])
  .describe("How token losses are averaged: over tokens, over sequences, or by a fixed length.");
