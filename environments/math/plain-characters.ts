/** The zeros of the scripts whose digits are read. The digits from 1 to 9 follow each. */
const zeros: readonly number[] = [0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0x1040];
const digits = new RegExp(`[${zeros.map((zero) => `${char(zero)}-${char(zero + 9)}`).join("")}]`, "gu");
const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ";
const subscripts = "₀₁₂₃₄₅₆₇₈₉₊₋";
const raised = new RegExp(`[${superscripts}]+`, "g");
const lowered = new RegExp(`[${subscripts}]+`, "g");
const smallFraction = new RegExp(`([${superscripts}]+)[\u2044/]([${subscripts}]+)`, "g");

/**
 * Replaces characters by those that mean the same in ASCII or LaTeX: digits and punctuation of other scripts,
 * full-width and bold digits, fractions such as `⅔`, and raised and lowered digits. Removes invisible marks.
 */
export function plainCharacters(text: string): string {
  return text
    .replace(/[\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g, "")
    .replace(/(?<=\d|[\u0660-\u0669\u06F0-\u06F9])[\u066B\u066C](?=[\u0660-\u0669\u06F0-\u06F9\d])/g, (mark) =>
      mark === "\u066B" ? "." : ",",
    )
    .replace(digits, (digit) =>
      String(digit.codePointAt(0)! - zeros.findLast((zero) => zero <= digit.codePointAt(0)!)!),
    )
    .replace(/[\u{1D7CE}-\u{1D7FF}]/gu, (digit) => digit.normalize("NFKC"))
    .replace(/[\uFF0C\u3001\u060C]\s?/g, ", ")
    .replace(/[\u3002\uFF61\u0964\u06D4\uFF01\uFF1F]\s?/g, (mark) => `${stops[mark[0]!] ?? "."} `)
    .replace(/[\uFF02-\uFF5E]/g, (wide) => char(wide.charCodeAt(0) - 0xfee0))
    .replace(/\u00A0?[\u00BC-\u00BE\u2150-\u215E]/g, (written) => {
      const [top, bottom] = written.trim().normalize("NFKC").split("\u2044");
      return `\\frac{${top}}{${bottom}}`;
    })
    .replace(smallFraction, (_all, top: string, bottom: string) => `\\frac{${scriptOf(top)}}{${scriptOf(bottom)}}`)
    .replace(/(?<=\d)\s?\u2044\s?(?=\d)/g, "/")
    .replace(raised, (script) => (script.length === 1 ? `^${scriptOf(script)}` : `^{${scriptOf(script)}}`))
    .replace(lowered, (script) => `_{${scriptOf(script)}}`);
}

const stops: Readonly<Record<string, string>> = { "\uFF01": "!", "\uFF1F": "?" };

function scriptOf(script: string): string {
  return script.normalize("NFKC").replaceAll("\u2212", "-");
}

function char(code: number): string {
  return String.fromCodePoint(code);
}
