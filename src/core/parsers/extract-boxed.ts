/** What stands in the last `\boxed{}` (or `\fbox{}`) of a text that is closed. Undefined if there is none. */
export function extractBoxed(text: string): string | undefined {
  const starts = Array.from(text.matchAll(/\\(?:boxed|fbox)\s*\{/g), (match) => match.index + match[0].length);
  // What follows the last box that is not closed would be read again from each before it.
  for (const start of starts.slice(-20).reverse()) {
    const content = untilClosingBrace(text.slice(start));
    if (content !== undefined) return content;
  }
  return undefined;
}

/** The text before the brace that closes what is open at its start; undefined if none does. */
export function untilClosingBrace(rest: string): string | undefined {
  let depth = 1;
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === "{") depth++;
    else if (rest[i] === "}" && --depth === 0) return rest.slice(0, i);
  }
  return undefined;
}
