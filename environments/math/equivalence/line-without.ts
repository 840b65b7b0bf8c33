import { isLess } from "./equal-expressions.ts";
import { splitTop } from "./split-top.ts";

const difference =
  /^(?:\\mathbb\s*\{?\s*R\s*\}?|\\R(?:eals)?)\s*(?:\\(?:setminus|smallsetminus|backslash)(?![A-Za-z])|-)\s*\\?\{(.+?)\\?\}$/s;

/** The real numbers without some of them as the intervals that are left: `\mathbb{R} \setminus \{2\}`. Else the same. */
export function lineWithout(latex: string): string {
  const content = difference.exec(latex)?.[1];
  if (content === undefined) return latex;
  const numbers = splitTop(content, /^[,;]/).parts.map((part) => part.trim());
  if (!numbers.every((number) => isLess(number, `(${number})+1`))) return latex;
  const ordered = numbers.toSorted((a, b) => (isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0));
  const ends = ["-\\infty", ...ordered, "\\infty"];
  // Of two equal numbers nothing is between them, and one is written in vain.
  if (!ordered.every((number, i) => i === 0 || isLess(ordered[i - 1]!, number))) return latex;
  return ends
    .slice(1)
    .map((end, i) => `(${ends[i]},${end})`)
    .join("\\cup ");
}
