/** An exact fraction in lowest terms; the denominator is positive. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Returns the fraction `numerator / denominator` in lowest terms. Throws RangeError for a denominator of 0. */
export function rational(numerator: bigint | number, denominator: bigint | number = 1n): Rational {
  const [top, bottom] = [BigInt(numerator), BigInt(denominator)];
  if (bottom === 0n) throw new RangeError("The denominator of a fraction is 0.");
  const divisor = greatestCommonDivisor(absolute(top), absolute(bottom)) * (bottom < 0n ? -1n : 1n);
  return { numerator: top / divisor, denominator: bottom / divisor };
}

export function addRationals(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

export function multiplyRationals(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function negateRational(value: Rational): Rational {
  return { numerator: -value.numerator, denominator: value.denominator };
}

export function equalRationals(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

/** Formats a fraction as `7`, `-7` or `-7/2`. */
export function formatRational({ numerator, denominator }: Rational): string {
  return denominator === 1n ? `${numerator}` : `${numerator}/${denominator}`;
}

/** Returns the greatest common divisor of two whole numbers that are not negative. If one is 0, returns the other. */
export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b];
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}

/** Returns the absolute value. */
export function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}
