import { z } from "zod";

/** The option of code environments that reward every answer instead of only the last one. */
export interface PayEveryTurn {
  readonly payEveryTurn: boolean;
}

/** The schema of {@link PayEveryTurn}, to spread into an environment's schema. */
export const payEveryTurnShape: { readonly payEveryTurn: z.ZodType<boolean> } = {
  payEveryTurn: z
    .boolean()
    .default(false)
    .describe(
      "Rewards the answer of every turn and always plays all turns. By default, only the last answer is rewarded.",
    ),
};

/** Returns the minimum and maximum total reward of an episode, from those of one answer. */
export function episodeRange(
  [low, high]: readonly [number, number],
  { payEveryTurn, maxTurns }: PayEveryTurn & { readonly maxTurns: number },
): readonly [number, number] {
  return payEveryTurn ? [low * maxTurns, high * maxTurns] : [low, high];
}
