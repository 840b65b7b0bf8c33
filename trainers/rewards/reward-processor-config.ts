import { z } from "zod";
import { createRegistry, type Registry } from "../../src/core/registry.ts";
import { clamp } from "./clamp.ts";
import { exponentialScale } from "./exponential-scale.ts";
import { normalizeByLength } from "./normalize-by-length.ts";
import { overlongPenalty } from "./overlong-penalty.ts";
import { defineRewardProcessor, type RewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";
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

/** The reward processors that a config can name. */
export const rewardProcessors: Registry<RewardProcessorDefinition> = createRegistry("reward processor", [
  defineRewardProcessor({
    id: "identity",
    description: "Leaves the reward unchanged.",
    options: z.object({}),
    create: () => (reward) => reward,
  }),
  clamp,
  scale,
  shift,
  sigmoidScale,
  exponentialScale,
  normalizeByLength,
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
