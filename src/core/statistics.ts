/** Returns the sum of the values. Returns 0 for an empty array. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Returns the arithmetic mean, or NaN for an empty array. If all values are equal, returns exactly that value. */
export function mean(values: readonly number[]): number {
  const first = values[0];
  if (first === undefined) return Number.NaN;
  let sum = 0;
  for (const value of values) sum += value - first;
  return first + sum / values.length;
}

/**
 * Returns a - b, or exactly 0 if only rounding makes them differ: by at most 1e-12 times the larger of 1, |a| and |b|.
 */
export function difference(a: number, b: number): number {
  const apart = a - b;
  return Math.abs(apart) <= 1e-12 * Math.max(1, Math.abs(a), Math.abs(b)) ? 0 : apart;
}

/**
 * Returns the values, all equal to the first if only rounding makes them differ. Rewards are compared after this,
 * because normalization can turn the smallest difference into a large advantage.
 */
export function withoutRounding(values: readonly number[]): readonly number[] {
  const [first] = values;
  return values.every((value) => difference(value, first!) === 0) ? values.map(() => first!) : values;
}

/** Returns the unbiased standard deviation (divided by n - 1), or 0 for fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const center = mean(values);
  let sum = 0;
  for (const value of values) sum += (value - center) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

/** Returns the median, or NaN for an empty array. For an even number of values, it is the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}
