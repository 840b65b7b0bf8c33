import { plainMath } from "../plain-math.ts";
import type { Rational } from "../rational.ts";
import { readNumbers } from "../read-number.ts";

/** A mixed number as `normalLatex` writes it. */
export const mixedNumber: RegExp = /^\s*([-+]?)\s*\((\d+)\+\\frac\{(\d+)\}\{(\d+)\}\)$/;

/** The number that a text in normal LaTeX is, exactly; undefined where it is anything else or still to be worked out. */
export function literalNumber(latex: string): Rational | undefined {
  const mixed = mixedNumber.exec(latex);
  const text = plainMath(mixed === null ? latex : `${mixed[1]}${mixed[2]} ${mixed[3]}/${mixed[4]}`).trim();
  const [reading, ...others] = readNumbers(text);
  if (reading === undefined || others.length > 0 || reading.operand || reading.percent) return undefined;
  return reading.start === 0 && reading.end === text.length ? reading.value : undefined;
}
