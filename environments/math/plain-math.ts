/**
 * Text with the notation around numbers made uniform: LaTeX spacing, text commands and dollar signs, Markdown
 * emphasis, and Unicode minus signs. What is left reads as a person would type it; `\frac` and `\sqrt` stay.
 */
export function plainMath(text: string): string {
  return text
    .replace(repeatingDecimal, repeatingFraction)
    .replace(/[\u2212\u2012\u2013\uFE63\uFF0D]/g, "-")
    .replace(/[ \t\u00A0\u2007\u2009\u202F]+/g, " ")
    .replace(/\{,\}/g, ",")
    .replace(/(?<=\d,?)\\[,!;:](?=\d)/g, "")
    .replace(/\\[,!;: ]|\\q?quad\b|~/g, " ")
    .replace(/\\(?:text|textbf|textit|mathrm|mathbf|operatorname|mbox)\s*\{([^{}]*)\}/g, " $1 ")
    .replace(/\\[dt]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))/g, fraction)
    .replace(/\\(?:left|right|displaystyle)\b|\\[()[\]]/g, " ")
    .replace(/(?<=\b(?:mm|cm|m|km|in|inch|inches|ft|feet|yd|mi|miles|meters|metres|units?) ?)\^ ?\{?[23]\}?/g, " ")
    .replace(/\\times\b/g, "×")
    .replace(/\\(?:cdot|ast)\b/g, "·")
    .replace(/\\div\b/g, "÷")
    .replace(/\\(?=[%$])/g, "")
    .replace(/(-?)[ \t]*[$€£¥](?=-?[\d.])/g, " $1")
    .replace(/[$€£¥]/g, " ")
    .replace(/(?<!\d)\*\*|\*\*(?!\d)|__|`/g, " ");
}

/** `0.1\overline{6}`, also with `\bar` and with `\dot` over one digit. */
export const repeatingDecimal: RegExp =
  /(?<![\d.,])(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\s*(?:\{(\d{1,30})\}|(\d))/g;

/** The fraction that a repeating decimal is: `0.1\overline{6}` is `\frac{15}{90}`. */
export function repeatingFraction(_all: string, whole: string, fixed: string, braced?: string, digit?: string): string {
  const repeated = (braced ?? digit)!;
  const top = BigInt(whole + fixed + repeated) - BigInt(whole + fixed || 0);
  return `\\frac{${top}}{${"9".repeat(repeated.length)}${"0".repeat(fixed.length)}}`;
}

function fraction(_whole: string, top?: string, topDigit?: string, bottom?: string, bottomDigit?: string): string {
  return `\\frac{${(top ?? topDigit)!.trim()}}{${(bottom ?? bottomDigit)!.trim()}}`;
}
