import { z } from "zod";
import type { LossAggregation } from "./loss-aggregation.ts";

/** The schema of a {@link LossAggregation} in a config. */
export const lossAggregationSchema: z.ZodType<LossAggregation, LossAggregation> = z
  .union([
    z.enum(["token-mean", "sequence-mean"]),
    z.strictObject({
      fixedLength: z.number().positive().describe("The number of tokens that the sum of each sequence is divided by."),
    }),
  ])
  .describe("How token losses are averaged: over all tokens, over sequences, or by a fixed length.");
