import { untilClosingBrace } from "../../src/core/parsers/extract-boxed.ts";

/** Commands that set a colour, a size or a style up to the end of their group. */
const switches =
  /\\(?:color\s*(?:\[[^\]{}]*\])?\s*\{[^{}]*\}|(?:tiny|scriptsize|footnotesize|small|normalsize|[lL]arge|LARGE|[hH]uge|(?:display|text|script|scriptscript)style|bfseries|itshape|boldmath|nonumber|notag|mathstrut|strut)(?![A-Za-z])|(?:bf|it|sf|tt|rm)(?![A-Za-z])(?=\s*\{?\s*[-+\d.$\\]))/g;
/** Commands with arguments that print nothing, or nothing that belongs to the value. */
const silent =
  /\\(?:tag\*?|label|[hv]space\*?|[hv]?phantom)\s*\{[^{}]*\}|\\(?:renewcommand\*?\s*\{?\s*\\arraystretch\s*\}?|def\s*\\arraystretch|setlength\s*\{?\s*\\[A-Za-z]+\s*\}?)\s*\{[^{}]*\}/g;
/** The distance after a line of a matrix, as in `\\[4pt]`. */
const lineSpace = /\\\\\*?(?:\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in|mu|px|bp|pc)\s*\])?/g;
/** Commands that only decorate their argument. */
const wrappers =
  /\\(?:(?:text)?color\s*(?:\[[^\]{}]*\])?\s*\{[^{}]*\}|tiny|scriptsize|footnotesize|small|normalsize|[lL]arge|LARGE|[hH]uge|displaystyle|colorbox\s*\{[^{}]*\}|fcolorbox\s*\{[^{}]*\}\s*\{[^{}]*\}|underline|uline|ensuremath|hbox|(?:boldsymbol|bm|pmb|mathbf|mathit|mathrm|bf|it|rm)(?=\s*\{[^A-Za-z{}]*[-+\d.]))\s*\{/g;
/** The maximum length of a decorated part. */
const longest = 1000;

const ohm = String.raw`(?:\\Omega(?![A-Za-z])|[\u2126\u03A9])`;
const micro = String.raw`(?:\\mu(?![A-Za-z])|[\u00B5\u03BC])`;
const afterNumber = String.raw`(?<=\d(?:[\s~]|\\[,;:! ]){0,4})`;
const valueEnd = String.raw`(?=\s*\}?\s*(?:[$.,;)}]|\\[)\]]|$))`;
const ohms = new RegExp(
  String.raw`${afterNumber}(?:(?:\\(?:text|mathrm|rm)\s*\{\s*([kMGm])\s*\}|([kMGm]))?\s*${ohm}|\\(?:text|mathrm)\s*\{\s*([kMGm]?)\s*${ohm}\s*\})${valueEnd}`,
  "gm",
);
const micros = new RegExp(
  String.raw`${afterNumber}(?:\\(?:text|mathrm)\s*\{\s*${micro}\s*(?:([A-Za-z]+)\s*\}|\}\s*([A-Za-z]+)(?![A-Za-z]))|${micro}\s*(?:\\[,! ]\s*)?(?:\\(?:text|mathrm|rm)\s*\{\s*([A-Za-z]+)\s*\}|([mgslLFAVWNJCHT])(?![A-Za-z])))${valueEnd}`,
  "gm",
);

/**
 * Removes what only changes the look of LaTeX: colours, sizes, bold type, tags and spaces between lines. Writes `\over`
 * and `\choose` as `\frac` and `\binom`, and the units with `\Omega` and `\mu` as text.
 */
export function withoutStyle(latex: string): string {
  if (!/[\\\u2126\u03A9\u00B5\u03BC]/.test(latex)) return latex;
  const text = latex.replace(lineSpace, "\\\\").replace(silent, " ");
  return infixAsCommands(unwrapped(text).replace(switches, " "))
    .replace(ohms, (_all, ...units: (string | undefined)[]) => `\\text{ ${units.slice(0, 3).join("")}\u03A9}`)
    .replace(micros, (_all, ...units: (string | undefined)[]) => `\\text{ \u03BC${units.slice(0, 4).join("")}}`);
}

/** Replaces each command that only decorates its argument by the argument. */
function unwrapped(text: string): string {
  let result = text;
  wrappers.lastIndex = 0;
  for (let match = wrappers.exec(result); match !== null; match = wrappers.exec(result)) {
    const start = match.index + match[0].length;
    const content = untilClosingBrace(result.slice(start, start + longest));
    if (content === undefined) continue;
    result = `${result.slice(0, match.index)} ${content} ${result.slice(start + content.length + 1)}`;
    wrappers.lastIndex = match.index;
  }
  return result;
}

/** Writes `{a \over b}` as `\frac{a}{b}`, and `{n \choose k}` as `\binom{n}{k}`. */
function infixAsCommands(text: string): string {
  let result = text;
  for (let i = 0; i < 20; i++) {
    const match = /\\(over|choose)(?![A-Za-z])/.exec(result);
    if (match === null) break;
    const [before, after] = [result.slice(0, match.index), result.slice(match.index + match[0].length)];
    const start = groupStart(before);
    const end = groupEnd(after);
    const isBraced = before[start - 1] === "{" && after[end] === "}";
    const command = match[1] === "over" ? "frac" : "binom";
    const fraction = `\\${command}{${before.slice(start).trim()}}{${after.slice(0, end).trim()}}`;
    // The braces of an argument stay: `\sqrt{a \over b}`.
    const isArgument = /(?:\\[A-Za-z]+|[\^_}\]])\s*$/.test(before.slice(0, start - 1));
    const [from, to] = isBraced && !isArgument ? [start - 1, end + 1] : [start, end];
    result = before.slice(0, from) + fraction + after.slice(to);
  }
  return result;
}

/** Returns the position after the brace or dollar sign that opens the group at the end of a text. */
function groupStart(before: string): number {
  for (let depth = 0, i = before.length - 1; i >= Math.max(0, before.length - longest); i--) {
    if (before[i] === "}") depth++;
    else if ((before[i] === "{" && --depth < 0) || (depth === 0 && /[$=\n]/.test(before[i]!))) return i + 1;
  }
  return Math.max(0, before.length - longest);
}

/** Returns the position of the brace or dollar sign that closes the group at the start of a text. */
function groupEnd(after: string): number {
  for (let depth = 0, i = 0; i < Math.min(after.length, longest); i++) {
    if (after[i] === "{") depth++;
    else if ((after[i] === "}" && --depth < 0) || (depth === 0 && /[$=\n]/.test(after[i]!))) return i;
  }
  return Math.min(after.length, longest);
}
