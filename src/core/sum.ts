/** Returns the sum of the values. Returns 0 for an empty array. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
