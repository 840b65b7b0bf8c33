/** What a letter of a guess is told: its place is right, it stands elsewhere in the word, or it is not (or no more) in it. */
export type LetterMark = "green" | "yellow" | "grey";

/**
 * The marks of a guess's letters, both words of one length. Each letter of the secret answers for one letter of the
 * guess: first for the one in its own place, then for others from left to right. So a letter that a guess has twice and
 * the secret once is marked once.
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
