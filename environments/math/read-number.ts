import { addRationals, multiplyRationals, negateRational, type Rational, rational } from "./rational.ts";
import { scaleAt } from "./scale-words.ts";

/** A number found in a text. */
export interface NumberReading {
  readonly value: Rational;
  /** True if a percent sign or word follows. `value` is the number before it. */
  readonly percent: boolean;
  /**
   * True if the number alone is not a value: it is part of an expression (`2+3`, `2x`, `x^2`, `10:30`), an unevaluated
   * division (`84/7`), or too large.
   */
  readonly operand: boolean;
  /** True if a letter multiplies the number, as in `46k`, which may also be a variable. */
  readonly hasScaleLetter: boolean;
  readonly start: number;
  readonly end: number;
}

/** The limit on digits and exponents. Numbers beyond it are too large to be answers. */
const maximumDigits = 400;

const decimal = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+`;
const decimalAt = new RegExp(decimal, "y");
const fractionAt = /\\frac\{(-?\d+)\}\{(\d+)\}/y;
const slashAt = new RegExp(String.raw`[ \t]*/[ \t]*(${decimal})(?!\.?\d)`, "y");
const properPartAt = /[ \t]+(\d+)[ \t]*\/[ \t]*(\d+)(?![\d./])|[ \t]*\\frac\{(\d+)\}\{(\d+)\}/y;
const exponentAt =
  /e([+-]?\d{1,9})(?![\w.])|[ \t]*[×x*·][ \t]*10[ \t]*\^[ \t]*(?:\{\s*([+-]?\d{1,9})\s*\}|([+-]?\d{1,9}))/iy;
const percentAt = /[ \t]*(?:%|per ?cent\b)/iy;

/** The text to the left of an operand: an operator with its first operand, a power, a root or a letter. */
const beforeOperand = [
  /[\d)\]}][ \t]*[-+*/×÷·:][ \t]*$/,
  /[a-z][-+*/×÷·]$/i,
  /[×÷·^_√][ \t]*\{?[ \t]*$/,
  /\\(?:sqrt|pm|mp|log|ln)[ \t]*\{?[ \t]*$|±[ \t]*$/,
  /\w$|\d,$|\)[ \t]*\([ \t]*$/,
  /\b(?:half of|twice|double|triple|root of|(?:less|more|fewer) than|\d (?:plus|minus|times|divided by)) $/i,
];
/** The text to its right: an operator with its second operand, a variable, a root, or a second part as in 10:30. */
const afterOperand = [
  /[ \t]*[×÷·^]|_\{?\d/y,
  /[ \t]*[-+*/][ \t]*[\d(\\]/y,
  /\*[a-z]|[ \t]*\+[ \t]*[a-z]/iy,
  / (?:squared|cubed|(?:plus|minus|times|divided by) \d)/iy,
  /[ \t]*x[ \t]*\d|[xyzin](?![a-z])/iy,
  /[:.,]\d|[ \t]*\)?\([ \t]*\d/y,
  /[ \t]*(?:\\(?:sqrt|frac|binom|log|ln|exp|(?:arc)?(?:sin|cos|tan)|cot|sec|csc|alpha|beta|gamma|delta|theta|lambda|mu|pi|phi|rho|sigma|tau|omega|pm|mp)(?![A-Za-z])|[π√±]|(?:log|ln|sqrt|pi)(?![a-z]))/iy,
];

const zero = rational(0);

/**
 * Returns all numbers in a text that {@link plainMath} has normalized, from left to right: integers, thousands
 * separators, decimals, scientific notation, fractions, mixed numbers, percentages, `1.5 million` and `46k`. Values are
 * exact.
 */
export function readNumbers(text: string): NumberReading[] {
  const readings: NumberReading[] = [];
  const begin = /\\frac|\.?\d/g;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const found = numberAt(text, match.index);
    if (found === undefined) {
      begin.lastIndex = match.index + match[0].length;
      continue;
    }
    begin.lastIndex = found.end;
    const sign = signBefore(text, match.index);
    const percent = matchAt(percentAt, text, found.end);
    const end = found.end + (percent?.[0].length ?? 0);
    readings.push({
      value: sign.negative ? negateRational(found.value ?? zero) : (found.value ?? zero),
      percent: percent !== null,
      operand: found.value === undefined || found.unevaluated === true || isOperand(text, sign.start, end),
      hasScaleLetter: found.hasScaleLetter === true,
      start: sign.start,
      end,
    });
  }
  return readings;
}

interface UnsignedNumber {
  /** Absent if the number is too large, or a division by 0. */
  readonly value?: Rational;
  /** True for a whole number written as a fraction. Repeating a question such as `84 / 7` does not answer it. */
  readonly unevaluated?: boolean;
  readonly hasScaleLetter?: boolean;
  readonly end: number;
}

/** Returns the number that begins at `start`. */
function numberAt(text: string, start: number): UnsignedNumber | undefined {
  const fraction = matchAt(fractionAt, text, start);
  if (fraction !== null) {
    const value = quotient(fraction[1]!, fraction[2]!);
    return { ...(value && { value, unevaluated: value.denominator === 1n }), end: start + fraction[0].length };
  }
  const whole = matchAt(decimalAt, text, start);
  if (whole === null) return undefined;
  let end = start + whole[0].length;
  let value = decimalValue(whole[0]);
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = matchAt(pattern, text, end);
    if (match !== null) end += match[0].length;
    return match;
  };
  if (/^\d+$/.test(whole[0])) {
    const proper = matchAt(properPartAt, text, end);
    const part = proper && quotient(proper[1] ?? proper[3]!, proper[2] ?? proper[4]!);
    if (value && part && part.numerator > 0n && part.numerator < part.denominator) {
      return { value: addRationals(value, part), end: end + proper[0].length };
    }
  }
  let unevaluated = false;
  const exponent = take(exponentAt);
  if (exponent !== null) {
    value = value && scaled(value, Number(exponent[1] ?? exponent[2] ?? exponent[3]));
  } else {
    const slash = take(slashAt);
    if (slash !== null) {
      const denominator = decimalValue(slash[1]!);
      value = value && denominator && divided(value, denominator);
      unevaluated = value?.denominator === 1n;
    }
  }
  const scale = scaleAt(text, end);
  if (scale !== undefined) {
    value = value && multiplyRationals(value, scale.factor);
    end = scale.end;
  }
  return { ...(value && { value }), unevaluated, hasScaleLetter: scale?.isLetter === true, end };
}

/** Returns the sign of a number. A minus is a sign unless it subtracts from something to its left. */
function signBefore(text: string, start: number): { readonly negative: boolean; readonly start: number } {
  const before = /[-+][ \t]*$/.exec(text.slice(Math.max(0, start - 4), start));
  if (before === null) return { negative: false, start };
  const position = start - before[0].length;
  const touches = before[0].length === 1;
  const left = text.slice(Math.max(0, position - 4), position);
  const subtracts = touches ? /[\w)\]}]$|[\d)\]}][ \t]*$/.test(left) : /[\w)\]}][ \t]*$/.test(left);
  return subtracts ? { negative: false, start } : { negative: before[0].startsWith("-"), start: position };
}

function decimalValue(text: string): Rational | undefined {
  const [whole, fraction = ""] = text.replaceAll(",", "").split(".");
  if (whole!.length + fraction.length > maximumDigits) return undefined;
  return rational(BigInt(whole! + fraction), 10n ** BigInt(fraction.length));
}

function scaled(value: Rational, exponent: number): Rational | undefined {
  if (Math.abs(exponent) > maximumDigits) return undefined;
  const power = 10n ** BigInt(Math.abs(exponent));
  return multiplyRationals(value, exponent < 0 ? rational(1n, power) : rational(power));
}

function quotient(numerator: string, denominator: string): Rational | undefined {
  if (numerator.length + denominator.length > maximumDigits) return undefined;
  return divided(rational(BigInt(numerator)), rational(BigInt(denominator)));
}

function divided(a: Rational, b: Rational): Rational | undefined {
  return b.numerator === 0n ? undefined : rational(a.numerator * b.denominator, a.denominator * b.numerator);
}

function isOperand(text: string, start: number, end: number): boolean {
  const left = text.slice(Math.max(0, start - 16), start);
  return (
    beforeOperand.some((pattern) => pattern.test(left)) ||
    afterOperand.some((pattern) => matchAt(pattern, text, end) !== null)
  );
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}
