import { plainMath } from "../plain-math.ts";
import type { Rational } from "../rational.ts";
import { readNumbers } from "../read-number.ts";

/** Matches a mixed number in the form that `normalLatex` writes. */
export const mixedNumber: RegExp = /^\s*([-+]?)\s*\((\d+)\+\\frac\{(\d+)\}\{(\d+)\}\)$/;

/**
 * Returns the exact number that a text in normal LaTeX is. Undefined for anything else, including unevaluated
 * expressions.
 */
export function literalNumber(latex: string): Rational | undefined {
  const mixed = mixedNumber.exec(latex);
  const text = plainMath(mixed === null ? latex : `${mixed[1]}${mixed[2]} ${mixed[3]}/${mixed[4]}`).trim();
  const [reading, ...others] = readNumbers(text);
  if (reading === undefined || others.length > 0 || reading.operand || reading.percent) return undefined;
  if (reading.hasScaleLetter) return undefined;
  return reading.start === 0 && reading.end === text.length ? reading.value : undefined;
}
