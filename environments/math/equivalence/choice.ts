interface Choice {
  readonly letter: string;
  /** The content of the choice, if it is written next to the letter. */
  readonly content: string;
}

const labelled = /^(\\text\s*\{)?\s*(?:\(([A-J])\)|([A-J])[).:])\s*(?:\}\s*)?(.*)$/s;
const bare = /^(?:\\text\s*\{\s*)?([A-J])\s*\}?$/;

/**
 * Returns an answer and the right answer, in normal LaTeX, in the form in which they are compared if they may be
 * choices: by letter if both have one (`(B) 12` and `B`), by content if only one has a letter next to it.
 */
export function withoutChoice(answer: string, gold: string): readonly [answer: string, gold: string] {
  const [given, wanted] = [choiceOf(answer), choiceOf(gold)];
  if (given !== undefined && wanted !== undefined) return [given.letter, wanted.letter];
  return [given?.content || answer, wanted?.content || gold];
}

function choiceOf(latex: string): Choice | undefined {
  const letter = bare.exec(latex)?.[1];
  if (letter !== undefined) return { letter, content: "" };
  const match = labelled.exec(latex);
  if (match === null) return undefined;
  const [, text, bracketed, marked, content] = match;
  // `(A)(B)` and `(A)B` are products, `A:B` is a ratio.
  if (/^\s*[,;]|\([A-J]\)/.test(content!)) return undefined;
  const touches = text === undefined && !/^\s|^$/.test(latex.slice(bracketed === undefined ? 2 : 3));
  return touches ? undefined : { letter: (bracketed ?? marked)!, content: content!.trim() };
}
