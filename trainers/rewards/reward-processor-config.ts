import { match } from "ts-pattern";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { clamp } from "./clamp.ts";
import { exponentialScale } from "./exponential-scale.ts";
import { normalizeByLength } from "./normalize-by-length.ts";
import { overlongPenalty } from "./overlong-penalty.ts";
import type { RewardProcessor } from "./reward-processor.ts";
import { scale } from "./scale.ts";
import { shift } from "./shift.ts";
import { sigmoidScale } from "./sigmoid-scale.ts";

/** One processor in `rewards` of a config. */
export type RewardProcessorConfig =
  | { readonly type: "identity" }
  | { readonly type: "clamp"; readonly minimum: number; readonly maximum: number }
  | { readonly type: "scale"; readonly factor: number }
  | { readonly type: "shift"; readonly by: number }
  | { readonly type: "sigmoid-scale" }
  | { readonly type: "exponential-scale"; readonly factor: number }
  | { readonly type: "normalize-by-length"; readonly full: number }
  | { readonly type: "overlong-penalty"; readonly cache: number; readonly maxTokens?: number | undefined };

/**
 * The schema of `rewards`: the processors that are applied, in order, to the reward of every turn before credit is
 * assigned.
 */
export const rewardProcessorsSchema: z.ZodType<readonly RewardProcessorConfig[]> = z
  .array(
    z
      .discriminatedUnion("type", [
        z.strictObject({ type: z.literal("identity").describe("Leaves the reward unchanged.") }),
        z.strictObject({
          type: z.literal("clamp").describe("Limits the reward to a range."),
          minimum: z.number().default(-10).describe("The lower bound."),
          maximum: z.number().default(10).describe("The upper bound."),
        }),
        z.strictObject({
          type: z.literal("scale").describe("Multiplies the reward."),
          factor: z.number().default(1).describe("The factor that the reward is multiplied by."),
        }),
        z.strictObject({
          type: z.literal("shift").describe("Adds a constant to the reward."),
          by: z.number().default(0).describe("The constant to add."),
        }),
        z.strictObject({ type: z.literal("sigmoid-scale").describe("1 / (1 + e^-r).") }),
        z.strictObject({
          type: z
            .literal("exponential-scale")
            .describe("e^(factor r) - 1 for positive r, 1 - e^(-factor r) for negative r."),
          factor: z.number().positive().default(1).describe("How strongly large rewards are stretched."),
        }),
        z.strictObject({
          type: z.literal("normalize-by-length").describe("Lowers the reward of short answers."),
          full: z
            .int()
            .positive()
            .default(1000)
            .describe("The number of tokens from which an answer keeps its whole reward."),
        }),
        z.strictObject({
          type: z
            .literal("overlong-penalty")
            .describe("DAPO's penalty for long answers. It grows from 0 to 1 over the last tokens before maxTokens."),
          cache: z
            .int()
            .positive()
            .describe("The number of tokens before maxTokens over which the penalty grows from 0 to 1."),
          maxTokens: z
            .int()
            .positive()
            .optional()
            .describe("The length at which the penalty is 1. sampling.maxTokens when absent."),
        }),
      ])
      .describe("A reward processor."),
  )
  .describe("Reward processors, applied in order to the reward of every turn before rewards are compared.");

/**
 * Returns the processors of a complete config, in order. Throws `config.invalid` if the cache of a penalty is longer
 * than its `maxTokens`.
 */
export function rewardProcessors(configs: readonly RewardProcessorConfig[]): RewardProcessor[] {
  return configs.map(rewardProcessor);
}

function rewardProcessor(config: RewardProcessorConfig): RewardProcessor {
  return match(config)
    .returnType<RewardProcessor>()
    .with({ type: "identity" }, () => (reward) => reward)
    .with({ type: "clamp" }, clamp)
    .with({ type: "scale" }, ({ factor }) => scale(factor))
    .with({ type: "shift" }, ({ by }) => shift(by))
    .with({ type: "sigmoid-scale" }, () => sigmoidScale)
    .with({ type: "exponential-scale" }, ({ factor }) => exponentialScale(factor))
    .with({ type: "normalize-by-length" }, ({ full }) => normalizeByLength(full))
    .with({ type: "overlong-penalty" }, ({ cache, maxTokens }) => {
      // A complete config has it.
      const mostTokens = maxTokens!;
      if (cache > mostTokens) throw tooLong(cache, mostTokens);
      return overlongPenalty({ cache, maxTokens: mostTokens });
    })
    .exhaustive();
}

function tooLong(cache: number, maxTokens: number): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The overlong-penalty in rewards has a cache of ${cache} tokens, but an answer has at most ${maxTokens}.`,
    hint: "Lower its cache, for example to a quarter of sampling.maxTokens, or raise sampling.maxTokens.",
    data: { cache, maxTokens },
  });
}
