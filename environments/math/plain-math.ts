/**
 * Text with the notation around numbers made uniform: LaTeX spacing, text commands and dollar signs, Markdown
 * emphasis, and Unicode minus signs. What is left reads as a person would type it; `\frac` and `\sqrt` stay.
 */
export function plainMath(text: string): string {
  return text
    .replace(/[\u2212\u2012\u2013\uFE63\uFF0D]/g, "-")
    .replace(/[ \t\u00A0\u2007\u2009\u202F]+/g, " ")
    .replace(/\{,\}/g, ",")
    .replace(/(?<=\d)\\[,!;:](?=\d)/g, "")
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

function fraction(_whole: string, top?: string, topDigit?: string, bottom?: string, bottomDigit?: string): string {
  return `\\frac{${(top ?? topDigit)!.trim()}}{${(bottom ?? bottomDigit)!.trim()}}`;
}
