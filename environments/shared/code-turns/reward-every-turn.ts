import { z } from "zod";

/** The option of code environments that reward every answer instead of only the last one, for an environment's schema. */
export const rewardEveryTurnShape = {
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
  { rewardEveryTurn, maxTurns }: { readonly rewardEveryTurn: boolean; readonly maxTurns: number },
): readonly [number, number] {
  return rewardEveryTurn ? [low * maxTurns, high * maxTurns] : [low, high];
}
