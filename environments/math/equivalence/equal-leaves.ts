import { equalRationals } from "../rational.ts";
import { equalExpressions } from "./equal-expressions.ts";
import { literalNumber } from "./literal-number.ts";
import { splitUnit } from "./split-unit.ts";

/**
 * Whether two answers of one part are equal: as text, as exact numbers, or as expressions. Units are compared only
 * where both have one. A percent sign on one side may stand for a hundredth. Where the gold is a number, an expression
 * that is still to be worked out is no answer.
 */
export function equalLeaves(answerText: string, goldText: string): boolean {
  const [answer, gold] = [splitUnit(answerText), splitUnit(goldText)];
  if (answer.unit !== undefined && gold.unit !== undefined && answer.unit !== gold.unit) return false;
  if (answer.value === "" || gold.value === "") return false;
  if (equalValues(answer.value, gold.value)) return true;
  if (answer.percent === gold.percent) return false;
  const hundredth = (value: string, percent: boolean): string => (percent ? `(${value})/100` : value);
  const [answerNumber, goldNumber] = [literalNumber(answer.value), literalNumber(gold.value)];
  if (answerNumber === undefined || goldNumber === undefined) return false;
  return equalExpressions(hundredth(answer.value, answer.percent), hundredth(gold.value, gold.percent));
}

function equalValues(answer: string, gold: string): boolean {
  const [answerText, goldText] = [textOf(answer), textOf(gold)];
  if (answerText.replaceAll(/[{}]/g, "") === goldText.replaceAll(/[{}]/g, "") && answerText === goldText) return true;
  const wanted = literalNumber(gold);
  if (wanted !== undefined) {
    const number = literalNumber(answer);
    return number !== undefined && equalRationals(number, wanted);
  }
  if (isWord(answer) || isWord(gold)) return answerText.toLowerCase() === goldText.toLowerCase();
  return equalExpressions(answer, gold);
}

function textOf(value: string): string {
  return value
    .replace(/\\text\s*\{([^{}]*)\}/g, "$1")
    .replace(/([_^])\{(\w)\}/g, "$1$2")
    .replace(/^\(([A-Za-z])\)$/, "$1")
    .replaceAll(/\s+/g, "");
}

/** Text, a letter of a choice, or a numeral with its base: nothing to be calculated. */
function isWord(value: string): boolean {
  const bare = value.replace(/\\(?!text)[A-Za-z]+/g, " ");
  return /\\text|[A-Za-z]{4,}|[^\0-\u007F]/.test(bare) || /^[\dA-F]+_\{?\d+\}?$/.test(value);
}
