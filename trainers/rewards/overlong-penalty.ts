import type { RewardProcessor } from "./reward-processor.ts";

/**
 * DAPO's soft overlong punishment (Yu et al. 2025, https://arxiv.org/abs/2503.14476, eq. 13). An answer of up to
 * `maxTokens - cache` tokens has no penalty. The penalty then grows linearly with each token, and is 1 from `maxTokens`
 * on. Each answer of an episode is judged by its own length.
 */
export function overlongPenalty(options: { readonly maxTokens: number; readonly cache: number }): RewardProcessor {
  const { maxTokens, cache } = options;
  const free = maxTokens - cache;
  const penalty = (length: number): number => Math.min(1, Math.max(0, (length - free) / cache));
  return Object.assign((reward: number, { length }: { readonly length: number }) => reward - penalty(length), {
    everyTurn: true,
  });
}
