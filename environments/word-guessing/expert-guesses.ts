import { markLetters } from "./letter-marks.ts";

/** A word with five different common letters. */
const opening = "raise";

/** Returns the guesses of an expert who knows the list of words, up to the secret. The secret must be in the list. */
export function expertGuesses(secret: string, words: readonly string[]): readonly string[] {
  const guesses: string[] = [];
  let possible = words;
  while (guesses.at(-1) !== secret) {
    const guess = guesses.length === 0 ? opening : mostTelling(possible);
    guesses.push(guess);
    const marks = markLetters(secret, guess).join();
    possible = possible.filter((word) => word !== guess && markLetters(word, guess).join() === marks);
  }
  return guesses;
}

/** Returns the word whose marks split the possible words into the most classes. */
function mostTelling(possible: readonly string[]): string {
  let [best, most] = [possible[0]!, 0];
  for (const guess of possible) {
    const classes = new Set(possible.map((word) => markLetters(word, guess).join())).size;
    if (classes > most) [best, most] = [guess, classes];
  }
  return best;
}
