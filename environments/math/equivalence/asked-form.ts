import { absolute, greatestCommonDivisor } from "../rational.ts";

/** True if a question asks for an answer in simple form. */
export function asksForSimpleForm(question: string): boolean {
  return /\bsimplif(?:y|ied)\b|\bsimplest\b|\bexpand(?:ed)?\b|\b(?:lowest|least) terms\b/i.test(question);
}

/** True if a question asks for a product. */
export function asksForFactors(question: string): boolean {
  return /\bfactor(?:i[sz]ed?|ed)?\b/i.test(question);
}

/** True if a number is written as a reducible fraction: `6/8`, `\frac{6}{8}`, `3/1`. */
export function hasUnreducedFraction(number: string): boolean {
  const match = /(-?\d{1,400})\s*(?:\/|\}\s*\{)\s*(-?\d{1,400})/.exec(number);
  if (match === null) return false;
  const [top, bottom] = [absolute(BigInt(match[1]!)), absolute(BigInt(match[2]!))];
  return bottom === 1n || greatestCommonDivisor(top, bottom) > 1n;
}
