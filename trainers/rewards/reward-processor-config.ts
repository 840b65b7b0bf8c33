import { z } from "zod";
import { createRandom } from "../../src/core/random/random.ts";
import { createRegistry, type Registry } from "../../src/core/registry.ts";
import { overlongPenalty } from "./overlong-penalty.ts";
import { defineRewardProcessor, type RewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

/** One processor in `rewards` of a config. */
export type RewardProcessorConfig =
  | { readonly type: "identity" }
  | { readonly type: "clamp"; readonly minimum: number; readonly maximum: number }
  | { readonly type: "scale"; readonly factor: number }
  | { readonly type: "shift"; readonly by: number }
  | { readonly type: "sigmoid-scale" }
  | { readonly type: "exponential-scale"; readonly factor: number }
  | { readonly type: "normalize-by-length"; readonly full: number }
  | { readonly type: "random"; readonly probability: number }
  | { readonly type: "overlong-penalty"; readonly cache: number; readonly maxTokens?: number | undefined };

/** The reward processors that a config can name. */
export const rewardProcessors: Registry<RewardProcessorDefinition> = createRegistry("reward processor", [
  defineRewardProcessor({
    id: "identity",
    description: "Leaves the reward unchanged.",
    options: z.object({}),
    create: () => (reward) => reward,
  }),
  // Returns min(max(r, minimum), maximum).
  defineRewardProcessor({
    id: "clamp",
    description: "Limits the reward to a range.",
    options: z.object({
      minimum: z.number().default(-10).describe("The lower bound."),
      maximum: z.number().default(10).describe("The upper bound."),
    }),
    create:
      ({ minimum, maximum }) =>
      (reward) =>
        Math.min(Math.max(reward, minimum), maximum),
  }),
  // Returns factor x r.
  defineRewardProcessor({
    id: "scale",
    description: "Multiplies the reward.",
    options: z.object({ factor: z.number().default(1).describe("The factor that the reward is multiplied by.") }),
    create:
      ({ factor }) =>
      (reward) =>
        factor * reward,
  }),
  // Returns r + by.
  defineRewardProcessor({
    id: "shift",
    description: "Adds a constant to the reward.",
    options: z.object({ by: z.number().default(0).describe("The constant to add.") }),
    create:
      ({ by }) =>
      (reward) =>
        reward + by,
  }),
  // Returns 1 / (1 + e^-r), which is between 0 and 1.
  defineRewardProcessor({
    id: "sigmoid-scale",
    description: "1 / (1 + e^-r).",
    options: z.object({}),
    create: () => (reward) => (reward >= 0 ? 1 / (1 + Math.exp(-reward)) : Math.exp(reward) / (1 + Math.exp(reward))),
  }),
  // Returns e^(factor r) - 1 for r above 0 and 1 - e^(-factor r) below 0. It stretches rewards far from 0 and is odd in r.
  defineRewardProcessor({
    id: "exponential-scale",
    description: "e^(factor r) - 1 for positive r, 1 - e^(-factor r) for negative r.",
    options: z.object({
      factor: z.number().positive().default(1).describe("How strongly large rewards are stretched."),
    }),
    create:
      ({ factor }) =>
      (reward) =>
        Math.sign(reward) * Math.expm1(factor * Math.abs(reward)),
  }),
  // Returns r x min(1, length / full). An answer of fewer than `full` tokens keeps only a part of its reward.
  defineRewardProcessor({
    id: "normalize-by-length",
    description: "Lowers the reward of short answers.",
    options: z.object({
      full: z
        .int()
        .positive()
        .default(1000)
        .describe("The number of tokens from which an answer keeps its whole reward."),
    }),
    create:
      ({ full }) =>
      (reward, { length }) =>
        reward * Math.min(1, length / full),
  }),
  // A control. A model that improves by such rewards does not learn from the environment's. Their mean is 0, so that
  // episodes with more turns, or with none that has a reward, are not better or worse.
  defineRewardProcessor({
    id: "random",
    description: "Replaces the reward by a coin with the mean 0, whatever the answer is. A control for results.",
    options: z.object({
      probability: z
        .number()
        .min(0)
        .max(1)
        .default(0.5)
        .describe("The probability of the higher reward, 1 - probability. The lower one is -probability."),
    }),
    create:
      ({ probability }) =>
      (_, { seed }) =>
        (createRandom(seed).next() < probability ? 1 : 0) - probability,
  }),
  overlongPenalty,
]);

const [firstEntry, ...otherEntries] = rewardProcessors
  .list()
  .map(({ id, description, options }) =>
    z.strictObject({ type: z.literal(id).describe(description), ...options.shape }),
  );

/**
 * The schema of `rewards`: the processors that are applied, in order, to the reward of every turn before credit is
 * assigned.
 */
export const rewardProcessorsSchema = z
  .array(z.discriminatedUnion("type", [firstEntry!, ...otherEntries]).describe("A reward processor."))
  .describe(
    "Reward processors, applied in order to the reward of every turn before rewards are compared.",
  ) as z.ZodType<unknown> as z.ZodType<readonly RewardProcessorConfig[], readonly RewardProcessorConfig[]>;

/** Creates the processors of a complete config, in order. Throws `config.invalid` if the options of one do not fit. */
export function createRewardProcessors(configs: readonly RewardProcessorConfig[]): RewardProcessor[] {
  return configs.map(({ type, ...options }) => rewardProcessors.get(type).create(options));
}
