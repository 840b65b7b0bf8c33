/**
 * What stands between the last `<tag>` of a text and the `</tag>` after it, without white space around it; letters' case
 * in the tag does not matter. Undefined if there is no such pair.
 */
export function extractTag(text: string, tag: string): string | undefined {
  const [open, close] = [`<${tag.toLowerCase()}>`, `</${tag.toLowerCase()}>`];
  // Lower case can have another length than the text in a few scripts; tags are ASCII.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const end = lower.lastIndexOf(close);
  if (end < 0) return undefined;
  const start = lower.lastIndexOf(open, end);
  return start < 0 ? undefined : text.slice(start + open.length, end).trim();
}
