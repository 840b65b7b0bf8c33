/** A figure that is not known exactly: the range that it is expected in, and its most likely value. */
export interface Interval {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/** Returns an interval. Throws a `RangeError` if the values are not in order. */
export function interval(low: number, middle: number, high: number): Interval {
  if (low <= middle && middle <= high) return { low, middle, high };
  throw new RangeError(`An interval needs low <= middle <= high, but it is ${low}, ${middle}, ${high}.`);
}

/** Returns the interval of a value that is known exactly. */
export function exactly(value: number): Interval {
  return { low: value, middle: value, high: value };
}

/** Returns the sum. Ends are added, as if all figures were at the same end at once. */
export function sum(...terms: readonly Interval[]): Interval {
  const add = (pick: keyof Interval): number => terms.reduce((total, term) => total + term[pick], 0);
  return { low: add("low"), middle: add("middle"), high: add("high") };
}

/** Returns the greatest low, middle and high of several intervals. */
export function greatest(...terms: readonly Interval[]): Interval {
  const of = (pick: keyof Interval): number => Math.max(...terms.map((term) => term[pick]));
  return { low: of("low"), middle: of("middle"), high: of("high") };
}

/** Returns the product of two intervals of values of at least 0. */
export function product(a: Interval, b: Interval | number): Interval {
  const by = typeof b === "number" ? exactly(b) : b;
  return { low: a.low * by.low, middle: a.middle * by.middle, high: a.high * by.high };
}

/** Returns the quotient of two intervals of values above 0. */
export function quotient(a: Interval, b: Interval | number): Interval {
  const by = typeof b === "number" ? exactly(b) : b;
  return { low: a.low / by.high, middle: a.middle / by.middle, high: a.high / by.low };
}

/**
 * Returns amount / time for a time that depends on the amount: the low time belongs to the low amount, and the high
 * time to the high one. The range covers these two rates, and the middle amount at the low and at the high time.
 */
export function ratio(amount: Interval, time: Interval): Interval {
  const middle = amount.middle / time.middle;
  const rates = [amount.low / time.low, middle, amount.high / time.high];
  return {
    low: Math.min(...rates, amount.middle / time.high),
    middle,
    high: Math.max(...rates, amount.middle / time.low),
  };
}

/** Returns the interval of a value that depends on another one, computed at each of its ends. */
export function atEach(of: Interval, value: (at: number, end: keyof Interval) => number): Interval {
  return { low: value(of.low, "low"), middle: value(of.middle, "middle"), high: value(of.high, "high") };
}
