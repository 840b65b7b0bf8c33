import { normalLatex } from "./normal-latex.ts";
import { splitTop } from "./split-top.ts";
import { splitUnit } from "./split-unit.ts";

/** True if an answer is copied from the question. */
export type CopyTest = (answer: string) => boolean;

/** The maximum length of a question. The rest is not read. */
const longestQuestion = 5_000;
/** The maximum length of an expression. Longer ones are no answers. */
const longestExpression = 500;

/**
 * Creates a test for answers that are copied from `question`. An answer is copied if it is literally an expression of
 * the question and no right form is. For "Simplify $\sqrt{12}$", `\sqrt{12}` is copied, although the right answer
 * `2\sqrt{3}` has the same value. Nothing is copied if the question itself contains the right answer ("Which is larger,
 * $x$ or $x^2$?"). A plain number is never a copy if the right answer is a plain number (`1.50` for `1.5`). Spaces,
 * outer brackets and factors that change nothing are ignored.
 */
export function copyTest(question: string, golds: readonly string[]): CopyTest {
  const wantsPlainNumber = golds.some(isPlainNumber);
  let asked: ReadonlySet<string> | undefined;
  return (answer) => {
    if (wantsPlainNumber && isPlainNumber(answer)) return false;
    asked ??= expressionsOf(question.slice(0, longestQuestion));
    const found = asked;
    if (golds.some((gold) => looseForms(gold).some((form) => found.has(form)))) return false;
    const isAsked = (text: string): boolean => writtenForms(text).some((form) => found.has(form));
    // An equation of copies (`\sqrt{12} = \sqrt{12}`) is a copy too, also with a decimal next to it.
    const exact = wantsPlainNumber ? normalLatex(answer) : withoutDecimal(normalLatex(answer));
    return isAsked(answer) || sidesOf(exact).every(isAsked);
  };
}

/** Returns every expression of a question: its formulas, their sides and items, and the text between its words. */
function expressionsOf(question: string): ReadonlySet<string> {
  const found = new Set<string>();
  const formula = /\$\$([\s\S]+?)\$\$|\$([^$]+)\$|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]/g;
  const inFormulas = Array.from(
    question.matchAll(formula),
    (match) => match.slice(1).find((part) => part !== undefined)!,
  );
  const betweenWords = question.replace(formula, " ; ").split(word);
  const texts = [...inFormulas, ...betweenWords].filter((text) => text.length <= longestExpression);
  for (const text of new Set(texts.map((one) => one.trim()))) {
    for (const part of new Set(partsOf(text))) for (const form of looseForms(part)) found.add(form);
  }
  found.delete("");
  return found;
}

const functions =
  "sqrt|sin|cos|tan|cot|sec|csc|ln|log|exp|pi|frac|dfrac|tfrac|cdot|times|text|left|right|infty|begin|end";
/** Matches a word of a sentence, or punctuation that ends an expression. */
const word = new RegExp(`(?<![A-Za-z\\\\])(?!(?:${functions})(?![A-Za-z]))[A-Za-z]{2,}(?![A-Za-z])|[?!:;]|[.,](?!\\d)`);

/** Returns a formula, the sides of its relations, and the items of its list. */
function partsOf(text: string): readonly string[] {
  const latex = normalLatex(text.replace(/[\s.,;:?!]+$/, ""));
  const items = splitTop(latex, /^[,;]/).parts;
  return [latex, ...items, ...items.flatMap(sidesOf)];
}

/** Removes an approximate decimal from the end of an answer in normal LaTeX. */
export function withoutDecimal(latex: string): string {
  return latex.replace(/(?<=\S)\s*\\approx(?![A-Za-z])[^=]*$/, "");
}

function sidesOf(latex: string): readonly string[] {
  return splitTop(latex, /^(?:[<>=]|\\(?:le|ge|ne|in)(?![A-Za-z]))/).parts;
}

/** Returns the forms by which a text is looked up: unchanged, and without a leading name or a trailing unit. */
function writtenForms(text: string): readonly string[] {
  const latex = normalLatex(text);
  const named = latex.replace(/^\\?[A-Za-z](?:\([A-Za-z]\))?\s*=/, "");
  const { value, percent } = splitUnit(named);
  return [latex, named, percent ? "" : value].map(bareForm).filter((form) => form !== "");
}

/** Returns the written forms, and also a percentage without its sign. */
function looseForms(text: string): readonly string[] {
  return [...writtenForms(text), bareForm(splitUnit(normalLatex(text)).value)];
}

/** Removes everything that changes neither value nor look: spaces, product signs, outer brackets and factors of one. */
function bareForm(latex: string): string {
  let bare = latex
    .replace(/\\(?:cdot|times|ast)(?![A-Za-z])|\*|\\(?=%)/g, "")
    .replace(/\\frac\s*\{(\d+)\}\s*\{(\d+)\}/g, "$1/$2")
    .replace(/\s+/g, "")
    .replace(/([_^])\{(\w)\}/g, "$1$2");
  for (let previous = ""; previous !== bare; ) {
    previous = bare;
    bare = bare
      .replace(/^\+|[+-]0(?![\d.])$|^0(?=[+])|\/1$|\^1$/g, "")
      .replace(/^1(?=[\\([A-Za-z])/, "")
      .replace(/^\\frac\{(.*)\}\{1\}$/, "$1")
      .replace(/(?<=[})])1$/, "")
      .replace(/^\\\{([^{},]*(?:\{[^{}]*\}[^{},]*)*)\\\}$/, "$1")
      .replace(/^\{([^{}]*)\}$|^\(([^()]*)\)$/, "$1$2");
  }
  return bare;
}

function isPlainNumber(text: string): boolean {
  const { value, percent } = splitUnit(normalLatex(text).replace(/^[A-Za-z]\s*=/, ""));
  return !percent && /^[-+]?[\d,]*\.?\d+$/.test(value.trim());
}
