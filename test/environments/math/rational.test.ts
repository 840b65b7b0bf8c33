import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addRationals,
  equalRationals,
  formatRational,
  multiplyRationals,
  negateRational,
  type Rational,
  rational,
} from "../../../environments/math/rational.ts";

const any = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).filter((n) => n !== 0n),
  )
  .map(([top, bottom]) => rational(top, bottom));

const zero = rational(0);
const one = rational(1);

test("fractions form a field, in lowest terms", () => {
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      const laws: [Rational, Rational][] = [
        [addRationals(a, b), addRationals(b, a)],
        [addRationals(addRationals(a, b), c), addRationals(a, addRationals(b, c))],
        [multiplyRationals(a, addRationals(b, c)), addRationals(multiplyRationals(a, b), multiplyRationals(a, c))],
        [addRationals(a, negateRational(a)), zero],
        [multiplyRationals(a, one), a],
      ];
      for (const [left, right] of laws) expect(equalRationals(left, right)).toBe(true);
      expect(a.denominator > 0n).toBe(true);
    }),
  );
});

test.each([
  [rational(6, 4), "3/2"],
  [rational(-6, 3), "-2"],
  [rational(1, -2), "-1/2"],
  [rational(0, -5), "0"],
])("%o prints as %s", (value, text) => expect(formatRational(value)).toBe(text));

test("division by 0 throws", () => expect(() => rational(1, 0)).toThrow(RangeError));
