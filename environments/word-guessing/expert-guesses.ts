import { markLetters } from "./letter-marks.ts";

/** Has five different common letters. */
const opening = "raise";

/** The guesses of an expert who knows the list of words, up to and with the secret, which must be one of them. */
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

/** The word whose marks split the others into the most classes. */
function mostTelling(possible: readonly string[]): string {
  let [best, most] = [possible[0]!, 0];
  for (const guess of possible) {
    const classes = new Set(possible.map((word) => markLetters(word, guess).join())).size;
    if (classes > most) [best, most] = [guess, classes];
  }
  return best;
}
