/**
 * The text before the stop string that begins first; all of it where there is none. Servers differ in whether they
 * keep the string that ended an answer: one that leaves it out never sends it, so cutting again changes nothing.
 */
export function cutAtStop(text: string, stop: readonly string[] = []): string {
  let end = text.length;
  for (const string of stop) {
    const at = string === "" ? -1 : text.indexOf(string);
    if (at >= 0 && at < end) end = at;
  }
  return text.slice(0, end);
}
