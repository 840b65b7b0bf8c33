import { equalRationals, multiplyRationals, type Rational, rational } from "../rational.ts";
import { scaleAt } from "../scale-words.ts";
import { literalNumber } from "./literal-number.ts";
import { splitUnit } from "./split-unit.ts";

/** An evaluated number with its unit. */
export interface MeasuredNumber {
  readonly number: Rational;
  readonly unit?: string;
  /** The letter before the equals sign. */
  readonly variable?: string;
  readonly percent: boolean;
}

/**
 * Returns the exact number that a text in normal LaTeX is, as in `3`, `3 cm` or `x = 3`. Undefined for anything else.
 */
export function measuredNumber(latex: string): MeasuredNumber | undefined {
  const named = /^\s*([A-Za-z])\s*=/.exec(latex);
  const { value, ...rest } = splitUnit(latex.slice(named?.[0].length ?? 0));
  const number = literalNumber(value);
  if (number === undefined) return undefined;
  const variable = named === null ? {} : { variable: named[1]!.toLowerCase() };
  const scale = rest.unit === undefined ? undefined : scaleAt(rest.unit, 0);
  if (scale === undefined || scale.isLetter) return { number, ...rest, ...variable };
  const unit = rest.unit!.slice(scale.end).trim();
  return { number: multiplyRationals(number, scale.factor), ...(unit && { unit }), percent: false, ...variable };
}

/**
 * True if two numbers are equal. Units and variables are compared only if both have one. A percent sign on one side
 * only may be a unit or a factor of 1/100.
 */
export function equalMeasuredNumbers(a: MeasuredNumber, b: MeasuredNumber): boolean {
  if (differ(a.unit, b.unit) || differ(a.variable, b.variable)) return false;
  if (equalRationals(a.number, b.number)) return true;
  if (a.percent === b.percent) return false;
  const [percent, plain] = a.percent ? [a.number, b.number] : [b.number, a.number];
  return equalRationals(multiplyRationals(percent, rational(1n, 100n)), plain);
}

function differ(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}
