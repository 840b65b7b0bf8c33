/**
 * The mark of a letter. green: the letter is at the right position. yellow: it is elsewhere in the word. grey: it is
 * not in the word, or no further time.
 */
export type LetterMark = "green" | "yellow" | "grey";

/**
 * Returns the marks of a guess's letters. Both words have the same length. Each letter of the secret matches one letter
 * of the guess: first the one at its own position, then others from left to right. So if a guess contains a letter
 * twice and the secret contains it once, only one is marked.
 */
export function markLetters(secret: string, guess: string): readonly LetterMark[] {
  const marks = Array.from(guess, (letter, i): LetterMark => (secret[i] === letter ? "green" : "grey"));
  const left = Array.from(secret, (letter, i) => (marks[i] === "green" ? undefined : letter));
  for (const [i, letter] of Array.from(guess).entries()) {
    const place = left.indexOf(letter);
    if (marks[i] === "green" || place === -1) continue;
    marks[i] = "yellow";
    left[place] = undefined;
  }
  return marks;
}
