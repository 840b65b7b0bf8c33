/** A text split at separators, and the separators between its parts. */
export interface SplitText {
  readonly parts: readonly string[];
  readonly separators: readonly string[];
}

/** Splits a LaTeX text at matches of `separator` (anchored by `^`) outside brackets, braces and environments. */
export function splitTop(latex: string, separator: RegExp): SplitText {
  const parts: string[] = [];
  const separators: string[] = [];
  let start = 0;
  forEachToken(latex, (token, position, depth) => {
    if (depth !== 0) return;
    const match = separator.exec(token);
    if (match === null) return;
    parts.push(latex.slice(start, position));
    separators.push(match[0]);
    start = position + match[0].length;
  });
  return { parts: [...parts, latex.slice(start)], separators };
}

/** True if the first bracket of a text is closed by the last token. */
export function isFullyBracketed(latex: string): boolean {
  let firstClosed = -1;
  forEachToken(latex, (token, position, depth) => {
    if (depth === 1 && firstClosed === -1 && closing.test(token)) firstClosed = position + token.length;
  });
  return firstClosed === latex.length;
}

const opening = /^(?:[([{]|\\\{|\\begin)$/;
const closing = /^(?:[)\]}]|\\\}|\\end)$/;

/**
 * Visits each token (a command, or one character) with its position and the number of open brackets around it. A
 * bracket counts as inside itself.
 */
function forEachToken(latex: string, visit: (token: string, position: number, depth: number) => void): void {
  let depth = 0;
  for (const match of latex.matchAll(/\\(?:[A-Za-z]+|[\s\S])|[\s\S]/g)) {
    const [token] = match;
    if (opening.test(token)) depth++;
    visit(token, match.index, depth);
    if (closing.test(token)) depth--;
  }
}
