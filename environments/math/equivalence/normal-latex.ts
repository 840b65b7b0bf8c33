import { joinDigitGroups } from "../digit-groups.ts";
import { withoutStyle } from "../latex-style.ts";
import { plainCharacters } from "../plain-characters.ts";
import { repeatingFractions } from "../plain-math.ts";

/** Typed characters and their LaTeX. */
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
  "≈": "\\approx ",
  "∪": "\\cup ",
  "∈": "\\in ",
  "∖": "\\setminus ",
  ℝ: "\\mathbb{R}",
  "±": "\\pm ",
  "°": "^\\circ ",
  "√": "\\sqrt ",
};
const bareFunction = /(?<![A-Za-z\\])(?=(?:arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log|exp)(?![A-Za-z]))/g;

/**
 * Normalizes an answer to LaTeX without dollar signs, sizes and spacing commands. Unicode signs and plain words such as
 * `sqrt(2)`, `pi`, `inf` and `<=` become commands. Text in `\text{}` stays, and `or` and `and` become commas.
 */
export function normalLatex(text: string): string {
  return repeatingFractions(joinDigitGroups(withoutStyle(plainCharacters(text))))
    .replace(alignment, (_all, _name, lines: string) => alignedChain(lines))
    .replace(/[^\0-\u007F]/g, (character) => characters[character] ?? character)
    .replace(/\\(?:limits|(?:[bB]igg?[lr]?))(?![A-Za-z])/g, " ")
    .replace(/\\(?:left|right)(?![A-Za-z])\s*\.?/g, " ")
    .replace(/(?<!\\)\\[,;: ]|\\thinspace(?![A-Za-z])|\\q?quad(?![A-Za-z])|[~\u00A0\u202F\u2009]/g, " ")
    .replace(/\{,\}/g, "")
    .replace(/\\\$|(?<!\\)\\[()[\]]|[$€£¥₹]/g, " ")
    .replace(/\*\*(?=\s*[\d({a-z])/gi, "^")
    .replace(/[`]|\*\*/g, " ")
    .replace(/\\[dtc]frac(?![A-Za-z])/g, "\\frac")
    .replace(
      /\\(?:text(?:bf|it|rm|normal|sf|tt|up|sc|md)|emph|mbox|mathrm|operatorname|mathbf|mathit|mathsf)(?=\s*\{)/g,
      "\\text",
    )
    .replace(/\{?\\rm\s*(?:\{\s*)?([A-Za-z]+)\s*\}/g, "\\text{$1}")
    .replace(/(?<=\^\s*\{\s*)\\text\s*\{\s*(\d)\s*\}/g, "$1")
    .replace(/\\pounds(?![A-Za-z])|\\euro(?![A-Za-z])|^\s*\\text\s*\{\s*(?:USD|EUR|GBP)\s*\}/g, " ")
    .replace(/(?<=\d)\s*[¢]$/, "\\text{ cents}")
    .replace(/\\mathbin\s*\{\s*:\s*\}|\\text\s*\{\s*:\s*\}/g, ":")
    .replace(/\\(?:lor|land|vee|wedge)(?![A-Za-z])|[\u2227\u2228]/g, ",")
    .replace(/\\begin\{array\}\s*\{[clr|]*\}/g, "\\begin{array}")
    .replace(
      /\(\s*\\begin\{array\}((?:(?!\\begin|\\end)[\s\S])*)\\end\{array\}\s*\)/g,
      "\\begin{pmatrix}$1\\end{pmatrix}",
    )
    .replace(
      /\[\s*\\begin\{array\}((?:(?!\\begin|\\end)[\s\S])*)\\end\{array\}\s*\]/g,
      "\\begin{pmatrix}$1\\end{pmatrix}",
    )
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
    .replace(/^\{((?![^{}]*\\mid)[^{}|:]*)\}$/, "$1");
}

const alignment = /\\begin\{((?:align|gather|equation|split|multline)(?:ed)?\*?)\}([\s\S]*?)\\end\{\1\}/g;

/** Joins the lines of an alignment. A line that begins with a relation continues the previous line. */
function alignedChain(lines: string): string {
  return lines
    .replaceAll("&", " ")
    .split("\\\\")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .reduce(
      (text, line) =>
        text === "" || /^(?:[=<>]|\\(?:approx|leq?|geq?|ne)(?![A-Za-z]))/.test(line)
          ? `${text} ${line}`
          : `${text}, ${line}`,
      "",
    );
}
