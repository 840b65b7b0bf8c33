import { isLess } from "./equal-expressions.ts";
import { splitTop } from "./split-top.ts";

const difference =
  /^(?:\\mathbb\s*\{?\s*R\s*\}?|\\R(?:eals)?)\s*(?:\\(?:setminus|smallsetminus|backslash)(?![A-Za-z])|-)\s*\\?\{(.+?)\\?\}$/s;

/**
 * Converts the real numbers without some values, `\mathbb{R} \setminus \{2\}`, to intervals. Other texts are unchanged.
 */
export function lineWithout(latex: string): string {
  const content = difference.exec(latex)?.[1];
  if (content === undefined) return latex;
  const numbers = splitTop(content, /^[,;]/).parts.map((part) => part.trim());
  if (!numbers.every((number) => isLess(number, `(${number})+1`))) return latex;
  const ordered = numbers.toSorted((a, b) => (isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0));
  const ends = ["-\\infty", ...ordered, "\\infty"];
  // Between two equal numbers there is no interval, so one of them would be redundant.
  if (!ordered.every((number, i) => i === 0 || isLess(ordered[i - 1]!, number))) return latex;
  return ends
    .slice(1)
    .map((end, i) => `(${ends[i]},${end})`)
    .join("\\cup ");
}
