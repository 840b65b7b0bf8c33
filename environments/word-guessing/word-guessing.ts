import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type SecretGame, secretGames } from "../shared/games/secret-games.ts";
import { expertGuesses } from "./expert-guesses.ts";
import { markLetters } from "./letter-marks.ts";
import { words } from "./words.ts";

/** The options of the word-guessing environment. The schema describes each one. */
export type WordGuessingOptions = Readonly<z.output<typeof schema>>;

/** A game with its secret word, which the agent never sees. */
export interface WordGuessingTask extends SecretGame<string> {}

const schema = z.strictObject({
  maxTurns: z.int().min(1).max(20).default(6).describe("The maximum number of guesses."),
  progressReward: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.1)
    .describe("The maximum reward of an unsolved word, if all letters were found in their places."),
});

const description = "Find a secret five-letter word; each guess is answered by a mark for every letter.";

/**
 * Creates the word-guessing environment with one agent and one guess per turn. Letters are marked by
 * `markLetters`. The reward is 1 for the first guess and falls by `1 / (2 maxTurns)` for each later one. The
 * games of `train` and of `test` have all words.
 */
export function wordGuessingEnvironment(
  options: Partial<WordGuessingOptions> = {},
): EnvironmentDefinition<WordGuessingTask> {
  const { maxTurns, progressReward } = parseEnvironmentOptions("word-guessing", schema, options);
  return defineEnvironment<WordGuessingTask, Set<number>>({
    id: "word-guessing",
    description,
    tasks: (split) => secretGames(words, split),
    maxTurns,
    reset: () => ({ prompt: rules(maxTurns), state: new Set() }),
    step: ({ task: { secret }, state: found, text, turn }) => {
      const guess = readGuess(text);
      if (guess === secret) return { components: { solved: 1 - turn / (2 * maxTurns), progress: 0 } };
      const marks = guess === undefined ? [] : markLetters(secret, guess);
      for (const [place, mark] of marks.entries()) if (mark === "green") found.add(place);
      if (turn + 1 === maxTurns) {
        return { components: { solved: 0, progress: (progressReward * found.size) / secret.length } };
      }
      if (guess === undefined) return { reply: "The last word of your reply does not have five letters. Guess again." };
      return { reply: Array.from(guess, (letter, i) => `${letter}: ${marks[i]}`).join("\n") };
    },
    demonstrate: ({ secret }) => {
      const guesses = expertGuesses(secret, words);
      return guesses.length <= maxTurns ? guesses : undefined;
    },
  });
}

function rules(maxTurns: number): string {
  return (
    `Find a common English word of five letters. You have ${maxTurns} guesses. After each I mark its letters: green ` +
    "stands in the right place, yellow is in the word at another place, grey is not in the word (or not that often). " +
    "The last word of your reply is your guess."
  );
}

/** Returns the last word of a reply, if it has five letters. */
function readGuess(text: string): string | undefined {
  const last = text
    .match(/\p{L}+/gu)
    ?.at(-1)
    ?.toLowerCase();
  return last !== undefined && /^[a-z]{5}$/.test(last) ? last : undefined;
}

/** The registry entry of the word-guessing environment. */
export const wordGuessingEntry = defineEnvironmentEntry({
  id: "word-guessing",
  description,
  options: schema,
  create: wordGuessingEnvironment,
});
