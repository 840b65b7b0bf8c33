import type { Random } from "../../../src/core/random/random.ts";
import { integerOtherThan, type PairGenerator } from "./answer-pair.ts";

/** The fraction `top / bottom`. The bottom is positive. */
export interface Fraction {
  readonly top: number;
  readonly bottom: number;
}

export const fraction = (top: number, bottom = 1): Fraction => ({ top, bottom });

/** A fraction close to the other, and never equal to it. */
export function otherFraction(random: Random, { top, bottom }: Fraction): Fraction {
  const candidates = [
    fraction(top + 1, bottom),
    fraction(-top, bottom),
    fraction(top, bottom + 1),
    fraction(10 * top, bottom),
  ];
  if (top > 0) candidates.push(fraction(bottom, top));
  return random.pick(candidates.filter((other) => other.top * bottom !== top * other.bottom));
}

export function drawFraction(random: Random): Fraction {
  return fraction(integerOtherThan(random, [-40, 40], [0]), random.integer(2, 16));
}

/** A decimal, exact: `decimal(-1234, 2)` is `-12.34`. */
export function decimal(digits: number, places: number): string {
  const padded = String(Math.abs(digits)).padStart(places + 1, "0");
  const cut = padded.length - places;
  return `${digits < 0 ? "-" : ""}${padded.slice(0, cut)}${places === 0 ? "" : `.${padded.slice(cut)}`}`;
}

/** A fraction as a model may write it: in LaTeX, on one line, as a mixed number, or as a decimal if that is finite. */
export function writeFraction(random: Random, { top, bottom }: Fraction): string {
  const [sign, size] = [top < 0 ? "-" : "", Math.abs(top)];
  const forms = [
    `${sign}\\frac{${size}}{${bottom}}`,
    `\\frac{${top}}{${bottom}}`,
    `${top}/${bottom}`,
    `${sign}\\dfrac{${size}}{${bottom}}`,
  ];
  if (size > bottom && size % bottom !== 0)
    forms.push(`${sign}${Math.floor(size / bottom)}\\frac{${size % bottom}}{${bottom}}`);
  const thousandths = (1000 * top) / bottom;
  if (Number.isInteger(thousandths)) forms.push(decimal(thousandths, 3));
  // A fraction that is a whole number is an unevaluated division.
  return size % bottom === 0 ? String(top / bottom) : random.pick(forms);
}

/** A number in plain, scientific and engineering notation. */
function writeDecimal(random: Random, digits: number, places: number): string {
  const plain = decimal(digits, places);
  const exponent = random.integer(-6, 6);
  const mantissa = (shift: number): string =>
    places + shift >= 0 ? decimal(digits, places + shift) : decimal(digits * 10 ** -(places + shift), 0);
  return random.pick([
    plain,
    `${plain}${places > 0 ? "00" : ".0"}`,
    digits > 0 ? `+${plain}` : plain.replace("-", "- "),
    plain.replace("-", "\u2212"),
    `\\text{${plain}}`,
    `x = ${plain}`,
    plain.replace(/^(-?)0\./, "$1."),
    `${mantissa(exponent)} \\times 10^{${exponent}}`,
    `${mantissa(exponent)} \\cdot 10^{${exponent}}`,
    `${mantissa(2)}e2`,
    `${mantissa(-3)}e-3`,
  ]);
}

const numbers: PairGenerator = (random, equal) => {
  const places = random.integer(0, 3);
  const digits = integerOtherThan(random, [-99_999, 99_999], [0]);
  const given = equal ? digits : random.pick([digits + 1, -digits, digits * 10, digits + 10 ** places]);
  return given === 0
    ? numbers(random, equal)
    : { answer: writeDecimal(random, given, places), gold: decimal(digits, places), equal };
};

const fractions: PairGenerator = (random, equal) => {
  const value = drawFraction(random);
  const given = equal ? value : otherFraction(random, value);
  return { answer: writeFraction(random, given), gold: writeFraction(random, value), equal };
};

const percentages: PairGenerator = (random, equal) => {
  const places = random.integer(0, 1);
  const digits = random.integer(1, 999);
  const write = (tenths: number): string => {
    const number = decimal(tenths, places);
    return random.pick([
      `${number}\\%`,
      `${number}%`,
      `${number}\\,\\%`,
      `${number} \\%`,
      `${number}\\text{ percent}`,
      `${number} percent`,
      decimal(tenths, places + 2),
    ]);
  };
  const given = equal ? digits : random.pick([digits + 1, digits * 10, digits + 10]);
  return { answer: write(given), gold: `${decimal(digits, places)}\\%`, equal };
};

const units = [
  ["cm", "\\text{ cm}", "\\,\\text{cm}", "\\mathrm{~cm}", " centimeters", "\\text{ centimeters}"],
  ["m", "\\text{ m}", "\\text{ meters}", " meters"],
  ["\\text{ cm}^2", "\\text{ square centimeters}", "\\,\\mathrm{cm}^2", " \\text{cm}^{2}"],
  [" inches", "\\text{ in}", "\\text{ inches}"],
  [" hours", "\\text{ hours}", "\\text{ hr}", " \\text{h}"],
  ["\\text{ minutes}", " min", " minutes"],
  ["^\\circ", "^{\\circ}", "°", " degrees", "\\text{ degrees}"],
  [" mph", "\\text{ mph}"],
  ["\\text{ m/s}", " m/s", "\\ \\mathrm{m/s}"],
  ["\\text{ apples}", " apples"],
] as const;

const withUnits: PairGenerator = (random, equal) => {
  const value = random.integer(2, 500);
  const unit = random.pick(units);
  const changesUnit = !equal && random.integer(0, 2) === 0;
  const otherUnit = changesUnit ? random.pick(units.filter((other) => other !== unit)) : unit;
  const given = equal || changesUnit ? value : integerOtherThan(random, [2, 500], [value]);
  // If one side has no unit, units cannot differ.
  const goldUnit = changesUnit || random.integer(0, 1) === 0 ? random.pick(unit) : "";
  const answerUnit = changesUnit || random.integer(0, 3) > 0 ? random.pick(otherUnit) : "";
  return { answer: `${given}${answerUnit}`, gold: `${value}${goldUnit}`, equal };
};

const currency: PairGenerator = (random, equal) => {
  const cents = random.integer(1, 9_999) * random.pick([1, 10, 100]);
  const write = (amount: number): string => {
    const number = random.pick([decimal(amount, 2), ...(amount % 100 === 0 ? [String(amount / 100)] : [])]);
    const grouped = number.replace(/^(\d+)(\d{3})/, random.pick(["$1,$2", "$1{,}$2", "$1$2"]));
    return random.pick([
      `\\$${grouped}`,
      `$${grouped}`,
      `${grouped} dollars`,
      `${grouped}\\text{ dollars}`,
      `\\text{\\$}${grouped}`,
      `\\$\\,${grouped}`,
    ]);
  };
  const given = equal ? cents : random.pick([cents + 1, cents * 10, cents + 100]);
  return { answer: write(given), gold: random.pick([decimal(cents, 2), `\\$${decimal(cents, 2)}`]), equal };
};

const thousands: PairGenerator = (random, equal) => {
  const value = random.integer(1_000, random.pick([9_999, 999_999, 999_999_999]));
  const given = equal ? value : random.pick([value + 1, value * 10, value + 1000]);
  const write = (number: number, separator: string): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, separator);
  const separator = random.pick([",", "{,}", "\\,", "{,}\\!", ",\\!"]);
  const [gold, answer] = shuffledPair(random, write(value, ""), [value, given], (number) => write(number, separator));
  return { answer, gold, equal };
};

/** One of the two numbers stays plain, and the other has separators. */
function shuffledPair(
  random: Random,
  plain: string,
  [value, given]: readonly [number, number],
  write: (value: number) => string,
): readonly [gold: string, answer: string] {
  return random.integer(0, 2) > 0 ? [plain, write(given)] : [write(value), String(given)];
}

/** Numbers in every notation. */
export const numberPairs: Readonly<Record<string, PairGenerator>> = {
  numbers,
  fractions,
  percentages,
  "with units": withUnits,
  currency,
  "thousands separators": thousands,
};
