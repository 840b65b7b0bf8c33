import { z } from "zod";
import { invalidConfig, type LyceumError } from "../../src/contract/errors/index.ts";
import { defineRewardProcessor, type RewardProcessorDefinition } from "./reward-processor.ts";

const count = () => z.int().positive();

/**
 * DAPO's soft overlong punishment (Yu et al. 2025, https://arxiv.org/abs/2503.14476, eq. 13). An answer of up to
 * `maxTokens - cache` tokens has no penalty. The penalty then grows linearly with each token, and is 1 from `maxTokens`
 * on. Each answer of an episode is judged by its own length.
 */
export const overlongPenalty: RewardProcessorDefinition = defineRewardProcessor({
  id: "overlong-penalty",
  description: "DAPO's penalty for long answers. It grows from 0 to 1 over the last tokens before maxTokens.",
  options: z.object({
    cache: count().describe("The number of tokens before maxTokens over which the penalty grows from 0 to 1."),
    maxTokens: count().optional().describe("The length at which the penalty is 1. sampling.maxTokens when absent."),
  }),
  create: ({ cache, maxTokens: given }) => {
    // A complete config has it.
    const maxTokens = given!;
    if (cache > maxTokens) throw tooLong(cache, maxTokens);
    const penalty = (length: number): number => Math.min(1, Math.max(0, (length - maxTokens + cache) / cache));
    return Object.assign((reward: number, { length }: { readonly length: number }) => reward - penalty(length), {
      everyTurn: true,
    });
  },
});

function tooLong(cache: number, maxTokens: number): LyceumError {
  return invalidConfig(
    `The overlong-penalty in rewards has a cache of ${cache} tokens, but an answer has at most ${maxTokens}.`,
    "Lower its cache, for example to a quarter of sampling.maxTokens, or raise sampling.maxTokens.",
    { cache, maxTokens },
  );
}
