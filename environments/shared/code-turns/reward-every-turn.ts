import { z } from "zod";

/** The option of code environments that reward every answer instead of only the last one. */
export interface RewardEveryTurn {
  readonly rewardEveryTurn: boolean;
}

/** The schema of {@link RewardEveryTurn}, to spread into an environment's schema. */
export const rewardEveryTurnShape: { readonly rewardEveryTurn: z.ZodType<boolean> } = {
  rewardEveryTurn: z
    .boolean()
    .default(false)
    .describe(
      "Rewards the answer of every turn and always plays all turns. By default, only the last answer is rewarded.",
    ),
};

/** Returns the minimum and maximum total reward of an episode, from those of one answer. */
export function episodeRange(
  [low, high]: readonly [number, number],
  { rewardEveryTurn, maxTurns }: RewardEveryTurn & { readonly maxTurns: number },
): readonly [number, number] {
  return rewardEveryTurn ? [low * maxTurns, high * maxTurns] : [low, high];
}
