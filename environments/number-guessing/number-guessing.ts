import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type SecretGame, secretGames } from "../shared/games/secret-games.ts";

/** The options of the number-guessing environment. The schema describes each one. */
export type NumberGuessingOptions = Readonly<z.output<typeof schema>>;

/** A game with its secret number, which the agent never sees. */
export interface NumberGuessingTask extends SecretGame<number> {}

const schema = z.strictObject({
  maximum: z.int().min(2).max(100_000).default(100).describe("The maximum of the secret number. The minimum is 1."),
  spareGuesses: z
    .int()
    .min(0)
    .max(20)
    .default(3)
    .describe("The number of guesses beyond the worst case of a binary search."),
});

const description = "Find a secret number; each wrong guess is answered by higher or lower.";

/**
 * Creates the number-guessing environment with one agent and one guess per turn. A number found within the worst case
 * of a binary search has the reward 1. Each further guess reduces the reward by an equal share, to 0 if the number is
 * not found. The games of `train` and of `test` have all numbers.
 */
export function numberGuessingEnvironment(
  options: Partial<NumberGuessingOptions> = {},
): EnvironmentDefinition<NumberGuessingTask> {
  const { maximum, spareGuesses } = parseEnvironmentOptions("number-guessing", schema, options);
  // A binary search finds one of at most 2^n - 1 numbers with n guesses.
  const par = Math.ceil(Math.log2(maximum + 1));
  const maxTurns = par + spareGuesses;
  const numbers = Array.from({ length: maximum }, (_, i) => i + 1);
  return defineEnvironment<NumberGuessingTask>({
    id: "number-guessing",
    description,
    tasks: (split) => secretGames(numbers, split),
    maxTurns,
    reset: () =>
      `I think of a whole number between 1 and ${maximum}. You have ${maxTurns} guesses, and after each I say whether ` +
      "my number is higher or lower. The last number of your reply is your guess.",
    step: ({ task: { secret }, text, turn }) => {
      const guess = readGuess(text);
      const used = turn + 1;
      if (guess === secret) return { reward: used <= par ? 1 : 1 - (used - par) / (spareGuesses + 1) };
      if (used === maxTurns) return { reward: 0 };
      if (guess === undefined) return { reply: "There is no whole number in your reply. That cost a guess." };
      return { reply: guess < secret ? `My number is higher than ${guess}.` : `My number is lower than ${guess}.` };
    },
    demonstrate: ({ secret }) => halvingGuesses(secret, maximum).map(String),
  });
}

/** Returns the last whole number of a reply. */
function readGuess(text: string): number | undefined {
  const last = text.match(/-?\d+/g)?.at(-1);
  return last === undefined ? undefined : Number(last);
}

/** Returns the guesses of a binary search. */
function halvingGuesses(secret: number, maximum: number): readonly number[] {
  const guesses: number[] = [];
  let [low, high] = [1, maximum];
  while (guesses.at(-1) !== secret) {
    const middle = Math.floor((low + high) / 2);
    guesses.push(middle);
    if (middle < secret) low = middle + 1;
    else high = middle - 1;
  }
  return guesses;
}

/** The registry entry of the number-guessing environment. */
export const numberGuessingEntry = defineEnvironmentEntry({
  id: "number-guessing",
  description,
  options: schema,
  create: numberGuessingEnvironment,
});
