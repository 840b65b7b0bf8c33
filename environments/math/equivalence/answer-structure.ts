import { lineWithout } from "./line-without.ts";
import { mixedNumber } from "./literal-number.ts";
import { isFullyBracketed, splitTop } from "./split-top.ts";

/** An answer split into parts. The parts are compared one by one instead of as one expression. */
export type AnswerStructure =
  | { readonly kind: "expression"; readonly latex: string }
  /** Values in any order: a set, a bare list, both signs of `\pm`. */
  | { readonly kind: "values"; readonly items: readonly AnswerStructure[] }
  /** Ordered values with their brackets: a tuple or an interval. */
  | { readonly kind: "sequence"; readonly brackets: string; readonly items: readonly AnswerStructure[] }
  | { readonly kind: "union"; readonly items: readonly AnswerStructure[] }
  /** `3:4`, also written `3 \text{ to } 4`. */
  | { readonly kind: "ratio"; readonly items: readonly AnswerStructure[] }
  | { readonly kind: "matrix"; readonly fence: string; readonly rows: readonly (readonly AnswerStructure[])[] }
  /** `parts[0] operators[0] parts[1] ...`; the operators are `=`, `<`, `<=`, `>`, `>=`, `!=` and `≈`. */
  | { readonly kind: "relation"; readonly operators: readonly string[]; readonly parts: readonly string[] };

const relations: Readonly<Record<string, string>> = { "\\le": "<=", "\\ge": ">=", "\\ne": "!=", "\\approx": "≈" };
const deepest = 12;

/** Parses an answer in normal LaTeX into its structure. Parts nested more than 12 levels deep stay one expression. */
export function answerStructure(text: string, depth = 0): AnswerStructure {
  const latex = lineWithout(dropMembership(dropBuilder(escapeSetBraces(text.trim()))));
  if (depth >= deepest) return { kind: "expression", latex };
  const inner = (part: string): AnswerStructure => answerStructure(part, depth + 1);
  const union = splitTop(latex, /^\\cup(?![A-Za-z])/);
  if (union.parts.length > 1) return { kind: "union", items: union.parts.map(inner) };
  const list = splitTop(joinThousands(latex), /^[,;]/);
  const items = list.parts.filter((part) => part.trim() !== "");
  if (items.length > 1) return { kind: "values", items: items.map(inner) };
  const chain = splitTop(latex, /^(?:[<>=]|\\(?:le|ge|ne|approx)(?![A-Za-z]))/);
  if (chain.parts.length > 1) {
    const operators = chain.separators.map((operator) => relations[operator] ?? operator);
    return { kind: "relation", operators, parts: chain.parts.map((part) => part.trim()) };
  }
  const matrix = /^\\begin\{([a-z]*)matrix\}([\s\S]*)\\end\{\1matrix\}$/.exec(latex);
  if (matrix !== null && !matrix[2]!.includes("\\begin")) {
    const rows = matrix[2]!.split(/\\\\/).filter((row) => row.trim() !== "");
    const fence = matrix[1] === "b" ? "p" : matrix[1]!;
    return { kind: "matrix", fence, rows: rows.map((row) => row.split("&").map(inner)) };
  }
  if (/^\\\{/.test(latex) && latex.endsWith("\\}") && isFullyBracketed(latex)) {
    const content = latex.slice(2, -2);
    const { parts } = splitTop(content, /^[,;]/);
    return { kind: "values", items: parts.filter((part) => part.trim() !== "").map(inner) };
  }
  if (/^[([]/.test(latex) && /[)\]]$/.test(latex) && isFullyBracketed(latex)) {
    const { parts } = splitTop(latex.slice(1, -1), /^[,;]/);
    if (parts.length > 1) return { kind: "sequence", brackets: latex[0]! + latex.at(-1)!, items: parts.map(inner) };
    if (latex.startsWith("(") && latex.endsWith(")") && !mixedNumber.test(latex)) return inner(parts[0]!);
  }
  const terms = ratioTerms(latex);
  if (terms !== undefined) return { kind: "ratio", items: terms.map(inner) };
  if ((latex.match(/\\pm(?![A-Za-z])/g) ?? []).length === 1 && !latex.includes("\\mp")) {
    const items = ["+", "-"].map((sign) => inner(latex.replace(/\\pm(?![A-Za-z])/, sign).replace(/^\+/, "")));
    return { kind: "values", items };
  }
  return { kind: "expression", latex };
}

/**
 * Returns the terms of a ratio: parts between colons, or numbers around a "to". A time of day (`10:30 am`) is not a
 * ratio.
 */
function ratioTerms(latex: string): readonly string[] | undefined {
  const written = latex
    .replace(/(?<=[\d}])\s*(?:\\text\s*\{\s*to\s*\}|\bto\b)\s*(?=[\d\\])/g, ":")
    .replace(/\\colon(?![A-Za-z])/g, ":");
  const parts = splitTop(written, /^:/).parts.map((part) => part.trim());
  if (parts.length < 2 || parts.includes("") || /\\text|[A-Za-z]{2,}(?<!\\[A-Za-z]+)/.test(written)) return undefined;
  return parts;
}

/** Escapes the braces around a list or a set builder, because they denote a set: `{1, 2}` becomes `\{1, 2\}`. */
function escapeSetBraces(latex: string): string {
  if (!/^\{.*\}$/s.test(latex) || !isFullyBracketed(latex)) return latex;
  return `\\{${latex.slice(1, -1)}\\}`;
}

/** Reduces a set builder to its condition: `\{x \mid x < 3\}` becomes `x < 3`. */
function dropBuilder(latex: string): string {
  const built =
    /^\\\{\s*([A-Za-z])\s*(?:\\in\s*(?:\\mathbb\s*\{?\s*R\s*\}?|\\R))?\s*(?:\\mid(?![A-Za-z])|\||:)(.+)\\\}$/.exec(
      latex,
    );
  return built !== null && isFullyBracketed(latex) ? built[2]!.trim() : latex;
}

/** Reduces a membership to its set: `x \in (1, 2)` becomes `(1, 2)`. */
function dropMembership(latex: string): string {
  const set = latex.replace(/^[A-Za-z]\s*\\in(?![A-Za-z])\s*/, "");
  return set === latex ? latex : escapeSetBraces(set);
}

/** Joins `1,234` to one number if there are no brackets. */
function joinThousands(latex: string): string {
  if (/[([]|\\\{/.test(latex)) return latex;
  return latex.replace(/(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])/g, (number) => number.replaceAll(",", ""));
}
