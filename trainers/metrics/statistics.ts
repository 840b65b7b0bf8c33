/** Returns the arithmetic mean, or NaN for an empty array. If all values are equal, returns exactly that value. */
export function mean(values: readonly number[]): number {
  const first = values[0];
  if (first === undefined) return Number.NaN;
  let sum = 0;
  for (const value of values) sum += value - first;
  return first + sum / values.length;
}

/** Returns the unbiased standard deviation (divided by n - 1), or 0 for fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const center = mean(values);
  let sum = 0;
  for (const value of values) sum += (value - center) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}
