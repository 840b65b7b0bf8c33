/**
 * Returns the trimmed text between the last `<tag>` of a text and the `</tag>` after it. The tag's case is ignored.
 * Undefined if there is no such pair.
 */
export function extractTag(text: string, tag: string): string | undefined {
  const [open, close] = [`<${tag.toLowerCase()}>`, `</${tag.toLowerCase()}>`];
  // Only ASCII letters are lowercased, because lower case has another length in a few scripts. Tags are ASCII.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const end = lower.lastIndexOf(close);
  if (end < 0) return undefined;
  const start = lower.lastIndexOf(open, end);
  return start < 0 ? undefined : text.slice(start + open.length, end).trim();
}
