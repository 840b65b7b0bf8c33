import { equalExpressions } from "./equal-expressions.ts";
import { equalMeasuredNumbers, measuredNumber } from "./measured-number.ts";
import { splitUnit } from "./split-unit.ts";

/**
 * True if two single-part answers are equal: as exact numbers, as text, or as expressions. Units are compared only if
 * both have one. If the right answer is a number, an unevaluated expression is no answer.
 */
export function equalLeaves(answerText: string, goldText: string): boolean {
  const wanted = measuredNumber(goldText);
  if (wanted !== undefined) {
    const number = measuredNumber(answerText);
    return number !== undefined && equalMeasuredNumbers(number, wanted);
  }
  const [answer, gold] = [splitUnit(answerText), splitUnit(goldText)];
  if (answer.value === "" || gold.value === "" || answer.percent !== gold.percent) return false;
  if (answer.unit !== undefined && gold.unit !== undefined && answer.unit !== gold.unit) return false;
  const [given, expected] = [textOf(answer.value), textOf(gold.value)];
  if (given === expected) return true;
  if (isWord(answer.value) || isWord(gold.value)) return given.toLowerCase() === expected.toLowerCase();
  return equalExpressions(answer.value, gold.value);
}

function textOf(value: string): string {
  return value
    .replace(/\\text\s*\{([^{}]*)\}/g, "$1")
    .replace(/([_^])\{(\w)\}/g, "$1$2")
    .replace(/^\(([A-Za-z])\)$/, "$1")
    .replaceAll(/\s+/g, "");
}

/** True for text, a choice letter, or a numeral with its base. Nothing in these is calculated. */
function isWord(value: string): boolean {
  const bare = value.replace(/\\(?!text)[A-Za-z]+/g, " ");
  return /\\text|[A-Za-z]{4,}|[^\0-\u007F]/.test(bare) || /^[\dA-F]+_\{?\d+\}?$/.test(value);
}
