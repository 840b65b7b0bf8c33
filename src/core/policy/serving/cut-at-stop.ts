/**
 * Returns the text before the stop sequence that begins first, or the whole text. Some servers keep the stop sequence
 * at the end of an answer. For the others this changes nothing, because they never send it.
 */
export function cutAtStop(text: string, stop: readonly string[] = []): string {
  let end = text.length;
  for (const string of stop) {
    const at = string === "" ? -1 : text.indexOf(string);
    if (at >= 0 && at < end) end = at;
  }
  return text.slice(0, end);
}
