/**
 * Returns the content of the last complete `\boxed{}` (or `\fbox{}`) in a text, or undefined. Also reads `\boxed 5`.
 */
export function extractBoxed(reply: string): string | undefined {
  const text = withBracedBoxes(reply);
  const starts = Array.from(text.matchAll(/\\(?:boxed|fbox)\s*\{/g), (match) => match.index + match[0].length);
  // Limits the number of boxes, because unclosed boxes make each earlier box scan the rest of the text again.
  for (const start of starts.slice(-20).reverse()) {
    const content = untilClosingBrace(text.slice(start));
    if (content !== undefined) return content;
  }
  return undefined;
}

const bareBox =
  /\\(boxed|fbox)\s*(?<![a-z](?=[a-z]))(\\[dt]?frac\s*\{[^{}\n]{0,100}\}\s*\{[^{}\n]{0,100}\}|(?!\\)[^\s${}][^$\n{}\\]{0,100}?)(?=\s*(?:[$\n]|\\[)\]]|[.,;](?:\s|$)|\s[A-Za-z]{2,}|$))/g;

/** Returns a text with braces around the content of each box that has none: `\boxed{5}` for `\boxed 5`. */
export function withBracedBoxes(text: string): string {
  return text.replace(bareBox, "\\$1{$2}");
}

/** Returns the text before the closing brace that matches an opening brace before `rest`, or undefined. */
export function untilClosingBrace(rest: string): string | undefined {
  let depth = 1;
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === "{") depth++;
    else if (rest[i] === "}" && --depth === 0) return rest.slice(0, i);
  }
  return undefined;
}
