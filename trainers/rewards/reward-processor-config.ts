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

/** One link of the chain of `rewards` in a config. */
export type RewardProcessorConfig =
  | { readonly type: "identity" }
  | { readonly type: "clamp"; readonly minimum: number; readonly maximum: number }
  | { readonly type: "scale"; readonly factor: number }
  | { readonly type: "shift"; readonly by: number }
  | { readonly type: "sigmoid-scale" }
  | { readonly type: "exponential-scale"; readonly factor: number }
  | { readonly type: "normalize-by-length"; readonly full: number }
  | { readonly type: "overlong-penalty"; readonly cache: number; readonly maxTokens?: number | undefined };

/** The chain of processors that every turn's reward goes through before credit is assigned. */
export const rewardProcessorsSchema: z.ZodType<readonly RewardProcessorConfig[]> = z
  .array(
    z
      .discriminatedUnion("type", [
        z.strictObject({ type: z.literal("identity").describe("As it is.") }),
        z.strictObject({
          type: z.literal("clamp").describe("Between two bounds."),
          minimum: z.number().default(-10).describe("The lower bound."),
          maximum: z.number().default(10).describe("The upper bound."),
        }),
        z.strictObject({
          type: z.literal("scale").describe("Multiplied."),
          factor: z.number().default(1).describe("What it is multiplied by."),
        }),
        z.strictObject({
          type: z.literal("shift").describe("Moved."),
          by: z.number().default(0).describe("What is added."),
        }),
        z.strictObject({ type: z.literal("sigmoid-scale").describe("1 / (1 + e^-r).") }),
        z.strictObject({
          type: z.literal("exponential-scale").describe("e^(factor r) - 1, odd in r."),
          factor: z.number().positive().default(1).describe("How strongly large rewards are stretched."),
        }),
        z.strictObject({
          type: z.literal("normalize-by-length").describe("Less for short answers."),
          full: z.int().positive().default(1000).describe("From so many tokens on an answer keeps its whole reward."),
        }),
        z.strictObject({
          type: z
            .literal("overlong-penalty")
            .describe(
              "Less for long answers, as DAPO has it: up to 1 is taken off over the last tokens that are allowed.",
            ),
          cache: z.int().positive().describe("The last tokens over which it grows from 0 to 1."),
          maxTokens: z
            .int()
            .positive()
            .optional()
            .describe("The length at which 1 is taken off. sampling.maxTokens when absent."),
        }),
      ])
      .describe("How a reward is changed."),
  )
  .describe("What every turn's reward goes through before it is compared.");

/**
 * The processors of a config, in order. `maxTokens` are those of a completion. Throws `config.invalid` for a penalty that
 * is longer than what it is for.
 */
export function rewardProcessors(
  configs: readonly RewardProcessorConfig[],
  options: { readonly maxTokens: number },
): RewardProcessor[] {
  return configs.map((config) => rewardProcessor(config, options));
}

function rewardProcessor(
  config: RewardProcessorConfig,
  { maxTokens: mostTokens }: { readonly maxTokens: number },
): RewardProcessor {
  return match(config)
    .returnType<RewardProcessor>()
    .with({ type: "identity" }, () => (reward) => reward)
    .with({ type: "clamp" }, clamp)
    .with({ type: "scale" }, ({ factor }) => scale(factor))
    .with({ type: "shift" }, ({ by }) => shift(by))
    .with({ type: "sigmoid-scale" }, () => sigmoidScale)
    .with({ type: "exponential-scale" }, ({ factor }) => exponentialScale(factor))
    .with({ type: "normalize-by-length" }, ({ full }) => normalizeByLength(full))
    .with({ type: "overlong-penalty" }, ({ cache, maxTokens = mostTokens }) => {
      if (cache > maxTokens) throw tooLong(cache, maxTokens);
      return overlongPenalty({ cache, maxTokens });
    })
    .exhaustive();
}

function tooLong(cache: number, maxTokens: number): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The overlong-penalty in rewards has a cache of ${cache} tokens, and an answer has at most ${maxTokens}.`,
    hint: "Lower its cache, such as a quarter of sampling.maxTokens, or raise sampling.maxTokens.",
    data: { cache, maxTokens },
  });
}
