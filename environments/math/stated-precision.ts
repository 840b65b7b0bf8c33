import { absolute, equalRationals, type Rational, rational } from "./rational.ts";

const placesOfUnit: Readonly<Record<string, number>> = {
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
const nearest = new RegExp(String.raw`\bnearest (${Object.keys(placesOfUnit).join("|")})\b`, "i");
const decimals = new RegExp(
  String.raw`\b(?:to|with|in) (\d|${counts.join("|")})[ -](?:decimal (?:place|digit)s?|decimals?|digits? after the decimal point|d\.?p)\b`,
  "i",
);

const figures = new RegExp(String.raw`\b(\d|${counts.join("|")})[ -]significant (?:figure|digit)s?\b`, "i");

/** A power of ten, such as in `accurate to within 0.001`. */
const within = /\b(?:accurate|correct|precise)(?: to)? within (?:an error of )?\$?0?\.(0{0,8})1\b(?!\.?\d)/i;

/**
 * Returns the number of decimal places that a question requests for its answer `exact`, or undefined if it requests
 * none.
 */
export function requestedDecimals(question: string, exact: Rational): number | undefined {
  const unit = nearest.exec(question)?.[1];
  if (unit !== undefined) return placesOfUnit[unit.toLowerCase()];
  const count = decimals.exec(question)?.[1];
  if (count !== undefined) return numberOf(count);
  const zeros = within.exec(question)?.[1];
  if (zeros !== undefined) return zeros.length + 1;
  const significant = figures.exec(question)?.[1];
  if (significant === undefined) return undefined;
  // Rounding to tens or hundreds is not supported.
  const places = numberOf(significant) - 1 - magnitude(exact);
  return places < 0 ? undefined : places;
}

function numberOf(count: string): number {
  const index = counts.indexOf(count.toLowerCase());
  return index === -1 ? Number(count) : index;
}

/** Returns the power of ten of the first digit: 1 for 34, -2 for 0.05. */
function magnitude({ numerator, denominator }: Rational): number {
  const size = Math.abs(Number(numerator) / Number(denominator));
  return size > 0 && Number.isFinite(size) ? Math.floor(Math.log10(size)) : 0;
}

/**
 * Returns true if a decimal equals `exact` to the requested places. It must have at least that many places, be `exact`
 * rounded or truncated at its own last place, and round to the same value as `exact`.
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

/** Rounds to decimal places, with halves away from zero. */
function roundedTo({ numerator, denominator }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(places);
  const size = (2n * absolute(numerator) * scale + denominator) / (2n * denominator);
  return rational(numerator < 0n ? -size : size, scale);
}

function cutAt({ numerator, denominator }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(places);
  return rational((numerator * scale) / denominator, scale);
}
