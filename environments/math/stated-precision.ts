import { absolute, equalRationals, type Rational, rational } from "./rational.ts";

const places: Readonly<Record<string, number>> = {
  "whole number": 0,
  integer: 0,
  unit: 0,
  tenth: 1,
  hundredth: 2,
  cent: 2,
  penny: 2,
  thousandth: 3,
  "ten-thousandth": 4,
};
const counts = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"];
const nearest = new RegExp(String.raw`\bnearest (${Object.keys(places).join("|")})\b`, "i");
const decimals = new RegExp(
  String.raw`\b(\d|${counts.join("|")})[ -](?:decimal (?:place|digit)|decimal|digits? after the decimal point)s?\b`,
  "i",
);

/** How many decimal places a question asks its answer to be rounded to; undefined if it asks for none. */
export function statedPlaces(question: string): number | undefined {
  const unit = nearest.exec(question)?.[1];
  if (unit !== undefined) return places[unit.toLowerCase()];
  const count = decimals.exec(question)?.[1]?.toLowerCase();
  if (count === undefined) return undefined;
  return counts.includes(count) ? counts.indexOf(count) : Number(count);
}

/**
 * Whether a decimal is `exact` to the places that are asked for: it has at least so many, is `exact` rounded or cut at
 * its own last place, and rounds as `exact` does.
 */
export function isRounded(decimal: string, options: { readonly exact: Rational; readonly places: number }): boolean {
  const { exact, places } = options;
  const match = /^[-+]?\d{1,30}(?:\.(\d{1,30}))?$/.exec(decimal);
  if (match === null) return false;
  const digits = match[1]?.length ?? 0;
  if (digits < places) return false;
  const value = rational(BigInt(decimal.replace(".", "").replace("+", "")), 10n ** BigInt(digits));
  const isCutOrRounded = [roundedTo(exact, digits), cutAt(exact, digits)].some((form) => equalRationals(form, value));
  return isCutOrRounded && equalRationals(roundedTo(value, places), roundedTo(exact, places));
}

/** Halves go away from zero. */
function roundedTo({ numerator, denominator }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(places);
  const size = (2n * absolute(numerator) * scale + denominator) / (2n * denominator);
  return rational(numerator < 0n ? -size : size, scale);
}

function cutAt({ numerator, denominator }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(places);
  return rational((numerator * scale) / denominator, scale);
}
