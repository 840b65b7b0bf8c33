import { repeatingDecimal, repeatingFraction } from "../plain-math.ts";

/** What people type, as the LaTeX it stands for. */
const characters: Readonly<Record<string, string>> = {
  "\u2212": "-",
  "\u2012": "-",
  "\u2013": "-",
  "×": "\\times ",
  "·": "\\cdot ",
  "÷": "/",
  π: "\\pi ",
  "∞": "\\infty ",
  "≤": "\\le ",
  "≥": "\\ge ",
  "≠": "\\ne ",
  "∪": "\\cup ",
  "∈": "\\in ",
  "±": "\\pm ",
  "°": "^\\circ ",
  "²": "^2",
  "³": "^3",
  "½": "\\frac{1}{2}",
  "¼": "\\frac{1}{4}",
  "¾": "\\frac{3}{4}",
  "√": "\\sqrt ",
};
const bareFunction = /(?<![A-Za-z\\])(?=(?:arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log|exp)(?![A-Za-z]))/g;

/**
 * An answer in one notation: LaTeX without dollar signs, sizes and spacing commands, with commands in place of Unicode
 * signs and of plain words such as `sqrt(2)`, `pi`, `inf` and `<=`. Text in `\text{}` stays, `or` and `and` become
 * commas.
 */
export function normalLatex(text: string): string {
  return text
    .replace(/[^\0-\u007F]/g, (character) => characters[character] ?? character)
    .replace(repeatingDecimal, repeatingFraction)
    .replace(/\\(?:displaystyle|limits|(?:[bB]igg?[lr]?))(?![A-Za-z])/g, " ")
    .replace(/\\(?:left|right)(?![A-Za-z])\s*\.?/g, " ")
    .replace(/(?<=\d)(\{,\}|,)?\\[,!;:](?=\d{3}(?!\d))/g, (_all, comma?: string) => (comma === undefined ? "" : ","))
    .replace(/(?<!\\)\\[,;:! ]|\\q?quad(?![A-Za-z])|[~\u00A0\u202F\u2009]/g, " ")
    .replace(/\{,\}/g, "")
    .replace(/\\\$|(?<!\\)\\[()[\]]|[$€£¥]/g, " ")
    .replace(/\*\*(?=\s*[\d({a-z])/gi, "^")
    .replace(/[`]|\*\*/g, " ")
    .replace(/\\[dtc]frac(?![A-Za-z])/g, "\\frac")
    .replace(/\\(?:textbf|textit|textrm|mbox|mathrm|operatorname|mathbf|mathit|mathsf)(?=\s*\{)/g, "\\text")
    .replace(/\\text\s*\{\s*(?:or|and)\s*\}|(?<![A-Za-z\\])(?:or|and)(?![A-Za-z])/g, ",")
    .replace(/\\text\s*\{\s*(e|i|d)\s*\}/g, "$1")
    .replace(/^\s*\\text\s*\{\s*([-+]?[\d.][^{}]*)\}\s*$/, "$1")
    .replace(/\\lbrace(?![A-Za-z])/g, "\\{")
    .replace(/\\rbrace(?![A-Za-z])/g, "\\}")
    .replace(/\\(?:leqslant|leq)(?![A-Za-z])|<=|=</g, "\\le ")
    .replace(/\\(?:geqslant|geq)(?![A-Za-z])|>=/g, "\\ge ")
    .replace(/\\neq(?![A-Za-z])|!=/g, "\\ne ")
    .replace(/\\lt(?![A-Za-z])/g, "<")
    .replace(/\\gt(?![A-Za-z])/g, ">")
    .replace(/(?<![A-Za-z\\])sqrt\s*\(([^()]*)\)/g, "\\sqrt{$1}")
    .replace(/(?<![A-Za-z\\])pi(?![A-Za-z])/g, "\\pi ")
    .replace(/(?<![A-Za-z\\])(?:infinity|infty|inf|oo)(?![A-Za-z])/gi, "\\infty ")
    .replace(bareFunction, "\\")
    .replace(/(\\(?:frac|sqrt))\s+/g, "$1")
    .replace(/\\frac\s*(\d)\s*(?:(\d)|\{)/g, (_all, top: string, bottom?: string) =>
      bottom === undefined ? `\\frac{${top}}{` : `\\frac{${top}}{${bottom}}`,
    )
    .replace(/\\frac(\{[^{}]*\})\s*(\d)/g, "\\frac$1{$2}")
    .replace(/\\sqrt\s*(\d)(?!\d)/g, "\\sqrt{$1}")
    .replace(/(?<![\w.}^_])(\d+)\s*\\frac\{(\d+)\}\s*\{(\d+)\}/g, "($1+\\frac{$2}{$3})")
    .replace(/(?<![\w.}^_/])(\d+) +(\d+) ?\/ ?(\d+)(?![\w.])/g, "($1+\\frac{$2}{$3})")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/(?<=.)\.$/, "")
    .replace(/^\{([^{}]*)\}$/, "$1");
}
