import { joinDigitGroups } from "./digit-groups.ts";
import { withoutStyle } from "./latex-style.ts";
import { plainCharacters } from "./plain-characters.ts";

/**
 * Normalizes the notation around numbers: LaTeX spacing, text commands and dollar signs, Markdown emphasis, and Unicode
 * minus signs. The result reads like typed text, except that `\frac` and `\sqrt` stay.
 */
export function plainMath(text: string): string {
  return repeatingFractions(joinDigitGroups(withoutStyle(plainCharacters(text))))
    .replace(/[\u2212\u2012\u2013\uFE63\uFF0D]/g, "-")
    .replace(/[ \t\u00A0\u2007\u2009\u202F]+/g, " ")
    .replace(/\{,\}/g, ",")
    .replace(/\\[,;: ]|\\q?quad\b|~/g, " ")
    .replace(
      /\\(?:text(?:bf|it|rm|normal|sf|tt|up|sc|md)?|emph|mathrm|mathbf|operatorname|mbox)\s*\{([^{}]*)\}/g,
      " $1 ",
    )
    .replace(/\\[dt]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))/g, fraction)
    .replace(/(?<!\s)\s*\^\s*\{?\s*\\circ\s*\}?|\\degree(?![A-Za-z])/g, "°")
    .replace(/\\(?:left|right|(?:[bB]igg?[lr]?))(?![A-Za-z])|\\[()[\]]/g, " ")
    .replace(unitPower, " ")
    .replace(/\\times\b/g, "×")
    .replace(/\\(?:cdot|ast)\b/g, "·")
    .replace(/\\div\b/g, "÷")
    .replace(/\\(?=[%$])/g, "")
    .replace(/(?<=[$€£¥₹₽₩₺₫] ?\d[\d.,]{0,20}) ?([MB]|bn|mn)(?![\p{L}\d$^_])/gu, (_all, letter: string) =>
      /b/i.test(letter) ? " billion" : " million",
    )
    .replace(/(?:(-)[ \t]*|(?<![ \t])[ \t]*)[$€£¥₹₽₩₺₫](?=-?[\d.])/g, " $1")
    .replace(/[$€£¥₹₽₩₺₫]/g, " ")
    .replace(/(?<![\w}\])^_]\s*)\{\s*(-?[\d.,]+)\s*\}/g, " $1 ")
    .replace(/(?<!\d)\*\*|\*\*(?!\d)|__|`/g, " ");
}

/** The power of a unit after a number: `^2` of `34 cm^2`, `²` of `34 m/s²`. */
const unitPower =
  /(?<=\d[ $]*(?:[a-z]+ ?\/ ?)?\b(?:mm|cm|dm|m|km|s|sec|in|inch|inches|ft|feet|yd|mi|miles|meters|metres|units?)[ $]*)(?:\^ ?\{?-?[123]\}?|[²³])/g;

/** `0.1\overline{6}`, also with `\bar` and with `\dot` over one digit. */
const repeatingDecimal = /(?<![\d.,])(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\s*(?:\{(\d{1,30})\}|(\d))/g;
/** `0.1666...`: three equal digits or two equal groups of them before an ellipsis. */
const continuedDecimal =
  /(?<![\d.,])(\d{1,15})\.(\d{0,8}?)(?:(\d)\3\3+|(\d{2,6}?)\4+)\s*(?:\\[lc]?dots(?![A-Za-z])|\.\.\.|\u2026)/g;

/** Replaces repeating decimals with fractions: `\frac{15}{90}` for `0.1\overline{6}` and for `0.1666...`. */
export function repeatingFractions(text: string): string {
  return text
    .replace(repeatingDecimal, (_all, whole: string, fixed: string, braced?: string, digit?: string) =>
      repeatingFraction({ whole, fixed, repeated: (braced ?? digit)! }),
    )
    .replace(continuedDecimal, (_all, whole: string, fixed: string, digit?: string, group?: string) =>
      repeatingFraction({ whole, fixed, repeated: (digit ?? group)! }),
    );
}

function repeatingFraction(decimal: { whole: string; fixed: string; repeated: string }): string {
  const { whole, fixed, repeated } = decimal;
  const top = BigInt(whole + fixed + repeated) - BigInt(whole + fixed || 0);
  return `\\frac{${top}}{${"9".repeat(repeated.length)}${"0".repeat(fixed.length)}}`;
}

function fraction(_whole: string, top?: string, topDigit?: string, bottom?: string, bottomDigit?: string): string {
  return `\\frac{${(top ?? topDigit)!.trim()}}{${(bottom ?? bottomDigit)!.trim()}}`;
}
