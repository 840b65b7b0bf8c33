import { rational } from "../rational.ts";
import { isRounded, requestedDecimals } from "../stated-precision.ts";
import { knownValue } from "./equal-expressions.ts";
import { measuredNumber } from "./measured-number.ts";
import { splitUnit } from "./split-unit.ts";

/** Matches decimals of limited length, because the value of an expression is known to nine places only. */
const decimal = /^-?\d{1,6}(?:\.\d{1,6})?$/;
const scale = 10 ** 9;

/**
 * True if a decimal is the rounded value of an irrational number such as `\sqrt{2}`, and the question states the number
 * of places.
 */
export function isRoundedExpression(answer: string, gold: string, question: string): boolean {
  const [given, wanted] = [splitUnit(answer), splitUnit(gold)];
  if (!decimal.test(given.value.trim()) || measuredNumber(gold) !== undefined) return false;
  if (given.percent !== wanted.percent) return false;
  if (given.unit !== undefined && wanted.unit !== undefined && given.unit !== wanted.unit) return false;
  const value = knownValue(wanted.value);
  if (value === undefined || Math.abs(value) > 1e6) return false;
  const exact = rational(BigInt(Math.round(value * scale)), BigInt(scale));
  const places = requestedDecimals(question, exact);
  return places !== undefined && isRounded(given.value.trim(), { exact, places });
}
