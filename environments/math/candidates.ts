import { withoutReason } from "./clause.ts";
import { sentenceValue } from "./sentence-value.ts";
import type { StatedAnswer } from "./stated-answer.ts";

/** Words that deny what a text says. */
export const hasDenial: RegExp = /\b(?:not?|never|neither|nor|except|unless)\b|n't\b/i;

/**
 * Returns the possible answers: the stated text, or, without a mark, the last line and its value; and the last formula.
 */
export function candidates({ text, mark }: StatedAnswer): string[] {
  const answer = mark === "none" ? lastLine(text) : text;
  const value = mark === "none" ? valueOfSentence(text) : undefined;
  const formula = mark === "boxed" ? undefined : lastFormula(answer);
  return [answer, formula ?? "", value ?? ""]
    .map((candidate) => candidate.trim())
    .filter((candidate) => candidate !== "");
}

/** Returns the last line of a text. Prepends the introductory line if the last line is a displayed formula. */
export function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [before, last] = [lines.at(-2) ?? "", lines.at(-1) ?? ""];
  return /^\s*(?:\$\$|\\\[)/.test(last) && /[A-Za-z:,]\s*$/.test(before) ? `${before} ${last}` : last;
}

/** Returns the value of the last sentence of a text. Marks a unit of one letter as text. */
export function valueOfSentence(text: string): string | undefined {
  const sentence = lastLine(text)
    .split(/(?<=[a-z)$\d}][.!?])\s+(?=[A-Z])/)
    .at(-1)!;
  return sentenceValue(withoutReason(sentence))?.replace(
    /(?<=\d[ $]+)([mgslLNJWV](?:\/[a-z]+)?)(?=\s*(?:\^\s*\{?[23]|[²³]|$))/,
    "\\text{$1}",
  );
}

/** Returns the last formula of a sentence, unless it is negated (`not $x$`) or one of several (`$x$ or $y$`). */
function lastFormula(sentence: string): string | undefined {
  const formulas = sentence.replace(/(?<!\\)\\[()[\]]/g, () => "$");
  const [before, last] = [undefined, ...formulas.matchAll(/\$([^$]+)\$/g)].slice(-2);
  if (last === undefined) return undefined;
  const between = formulas.slice(before === undefined ? 0 : before.index + before[0].length, last.index);
  const words = between.trim().split(/\s+/).slice(-3).join(" ");
  const isListed = before !== undefined && /^[\s$,;/&]*(?:and)?[\s$,;]*$/i.test(between);
  return isListed || hasDenial.test(words) || /\bor\b/i.test(words) ? undefined : last[1];
}
