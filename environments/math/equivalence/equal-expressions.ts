import { type BoxedExpression, ComputeEngine } from "@cortex-js/compute-engine";
import type { MathJson } from "./unfinished-work.ts";

/** The number of digits to which expressions are evaluated. */
const precision = 50;
/** The relative difference below which two values are equal. */
const tolerance = 1e-28;
const smallest = 1e-250;
const mostUnknowns = 4;
/**
 * Values of the unknowns, of both signs and away from round numbers: `points[i]` is the first unknown's value at point
 * i.
 */
const points = [0.7310585786, 1.6180339123, -0.5772156649, 2.2795318642, -1.3947261835, 3.3598856662];

const engine = new ComputeEngine();
engine.precision = precision;

/**
 * True if two LaTeX expressions have the same value: exactly if both are rational, otherwise to 28 digits at six points
 * of their unknowns. Throws the engine's errors.
 */
export function equalExpressions(first: string, second: string): boolean {
  const [a, b] = [parse(first), parse(second)];
  if (a === undefined || b === undefined) return false;
  if (a.isSame(b)) return !/ComplexInfinity|NaN/.test(JSON.stringify(a.json));
  const unknowns = unknownsOf(a, b);
  if (unknowns === undefined) return false;
  if (unknowns.length === 0) {
    const difference = a.sub(b).evaluate();
    return isExact(difference) ? difference.isSame(0) : areClose(a, b);
  }
  let checked = 0;
  for (const values of assignments(unknowns)) {
    const [x, y] = [a.subs(values), b.subs(values)];
    if (!hasValue(x) || !hasValue(y)) {
      if (hasValue(x) !== hasValue(y)) return false;
      continue;
    }
    if (!areClose(x, y)) return false;
    checked++;
  }
  return checked >= 3;
}

/**
 * Returns the sign of the constant c with `first[0] - first[1] = c (second[0] - second[1])` for all values of the
 * unknowns. 0 if there is no such constant.
 */
export function proportion(first: readonly [string, string], second: readonly [string, string]): -1 | 0 | 1 {
  const [a, b] = [subtract(first), subtract(second)];
  if (a === undefined || b === undefined) return 0;
  const unknowns = unknownsOf(a, b);
  if (unknowns === undefined || unknowns.length === 0) return 0;
  let ratio: number | undefined;
  for (const values of assignments(unknowns)) {
    const [x, y] = [numberOf(a.subs(values)), numberOf(b.subs(values))];
    if (x === undefined || y === undefined || Math.abs(x) < 1e-9 || Math.abs(y) < 1e-9) return 0;
    const found = x / y;
    ratio ??= found;
    if (Math.abs(found - ratio) > 1e-11 * Math.abs(ratio)) return 0;
  }
  return ratio === undefined ? 0 : ratio > 0 ? 1 : -1;
}

/** True if the first number is less than the second. False if one is not a real number. */
export function isLess(first: string, second: string): boolean {
  const [a, b] = [parse(first), parse(second)].map((value) => value && numberOf(value));
  return a !== undefined && b !== undefined && a < b;
}

/** Returns the value of an expression without unknowns, to about 15 digits. */
export function knownValue(latex: string): number | undefined {
  const expression = parse(latex);
  return expression === undefined || expression.unknowns.length > 0 ? undefined : numberOf(expression);
}

/** True if a number, rounded to the last place of a decimal, equals that decimal. */
export function isRoundedTo(exact: string, decimal: string): boolean {
  const match = /^-?\d{1,15}(?:\.(\d{1,15}))?$/.exec(decimal.trim());
  const value = match && parse(exact);
  const number = value ? numberOf(value) : undefined;
  if (number === undefined) return false;
  return Math.abs(number - Number(decimal)) <= 0.5 * 10 ** -(match![1]?.length ?? 0) * (1 + 1e-9);
}

/** Parses an expression as it is written, without evaluating or reordering it. */
export function writtenExpression(latex: string): MathJson {
  return engine.parse(latex, { form: "raw" }).json as MathJson;
}

function parse(latex: string): BoxedExpression | undefined {
  const raw = engine.parse(latex, { form: "raw" });
  if (!raw.isValid) return undefined;
  const expression = engine.parse(latex);
  return expression.isValid ? expression : undefined;
}

function subtract([left, right]: readonly [string, string]): BoxedExpression | undefined {
  const [a, b] = [parse(left), parse(right)];
  return a === undefined || b === undefined ? undefined : a.sub(b);
}

/** Returns the unknowns of both expressions. Undefined if they differ, or if there are too many. */
function unknownsOf(a: BoxedExpression, b: BoxedExpression): readonly string[] | undefined {
  const names = [...new Set([...a.unknowns, ...b.unknowns])].sort();
  return names.length > mostUnknowns ? undefined : names;
}

function* assignments(unknowns: readonly string[]): Generator<Record<string, number>> {
  for (let i = 0; i < points.length; i++) {
    yield Object.fromEntries(unknowns.map((name, j) => [name, points[(i + j) % points.length]! + 0.0917 * i * j]));
  }
}

function isExact(value: BoxedExpression): boolean {
  return value.isInteger === true || value.isRational === true;
}

function hasValue(value: BoxedExpression): boolean {
  const { re, im } = value.N();
  return Number.isFinite(re) && Number.isFinite(im);
}

/** True if two values differ only by rounding. Values too small for a double are indistinguishable from 0. */
function areClose(a: BoxedExpression, b: BoxedExpression): boolean {
  const [x, y, difference] = [a.N(), b.N(), a.sub(b).N()].map(({ re, im }) => Math.hypot(re, im)) as [
    number,
    number,
    number,
  ];
  const size = Math.max(x, y);
  return size > smallest && Number.isFinite(size) && difference <= tolerance * size;
}

function numberOf(expression: BoxedExpression): number | undefined {
  const { re, im } = expression.N();
  return Number.isFinite(re) && Math.abs(im) < 1e-12 ? re : undefined;
}
