import { z } from "zod";

/** The option of environments of code that can pay for more than the last answer. */
export interface PayEveryTurn {
  readonly payEveryTurn: boolean;
}

/** The schema of {@link PayEveryTurn}, to be spread into that of an environment. */
export const payEveryTurnShape: { readonly payEveryTurn: z.ZodType<boolean> } = {
  payEveryTurn: z
    .boolean()
    .default(false)
    .describe("Pay for the answer of every turn, and let all turns be played; by default, for the last alone."),
};

/** The least and greatest total of an episode whose answers are worth this much each. */
export function episodeRange(
  [low, high]: readonly [number, number],
  { payEveryTurn, maxTurns }: PayEveryTurn & { readonly maxTurns: number },
): readonly [number, number] {
  return payEveryTurn ? [low * maxTurns, high * maxTurns] : [low, high];
}
