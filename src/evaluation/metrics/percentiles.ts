import type { Percentiles } from "../log/summary.ts";

/**
 * Returns percentiles by the nearest-rank method: the smallest value such that a share p of all values is not above it.
 * Returns undefined if there are no values.
 */
export function percentiles(values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined;
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
