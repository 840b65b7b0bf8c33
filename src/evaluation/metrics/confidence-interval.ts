import { createRandom } from "../../core/random/random.ts";
import { sum } from "../../core/statistics.ts";
import type { Interval } from "../log/summary.ts";

/** The 97.5th percentile of the normal distribution. */
const z = 1.959963984540054;

/** The number of bootstrap resamples. */
const resamples = 1_000;

/**
 * Returns the 95% confidence interval of a mean over tasks. Uses Wilson's score interval (Wilson 1927) if all values
 * are 0 or 1. Otherwise uses bootstrap percentiles (Efron 1979) with a fixed seed. Returns undefined for fewer than two
 * values.
 */
export function meanInterval(values: readonly number[]): Interval | undefined {
  if (values.length < 2) return undefined;
  const isShare = values.every((value) => value === 0 || value === 1);
  return isShare ? wilsonInterval({ count: sum(values), of: values.length }) : bootstrapInterval(values);
}

/** Returns Wilson's score interval of a share: (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n). */
export function wilsonInterval({ count, of }: { readonly count: number; readonly of: number }): Interval {
  const share = count / of;
  const square = (z * z) / of;
  const middle = share + square / 2;
  const half = z * Math.sqrt((share * (1 - share)) / of + square / (4 * of));
  // For shares of 0 and 1 the bound is exactly 0 or 1, which rounding can miss.
  const low = count === 0 ? 0 : (middle - half) / (1 + square);
  const high = count === of ? 1 : (middle + half) / (1 + square);
  return { low, high, level: 0.95, method: "wilson" };
}

/** Returns the bootstrap interval of the mean, from 1,000 resamples with a fixed seed. */
export function bootstrapInterval(values: readonly number[]): Interval {
  const means = bootstrapEstimates(values, (drawn) => sum(drawn) / values.length);
  return percentileInterval(means);
}

/**
 * Returns the estimates of 1,000 bootstrap resamples. Each resample has as many values as `values`, drawn with
 * replacement from a fixed seed.
 */
export function bootstrapEstimates<T, Estimate>(
  values: readonly T[],
  estimate: (drawn: readonly T[]) => Estimate,
): Estimate[] {
  const random = createRandom(0);
  const last = values.length - 1;
  return Array.from({ length: resamples }, () => estimate(values.map(() => values[random.integer(0, last)]!)));
}

/** Returns the interval between the 2.5th and the 97.5th percentile of bootstrap estimates. */
export function percentileInterval(estimates: readonly number[]): Interval {
  const sorted = Float64Array.from(estimates).sort();
  const last = sorted.length - 1;
  const low = sorted[Math.floor(0.025 * last)]!;
  const high = sorted[Math.ceil(0.975 * last)]!;
  return { low, high, level: 0.95, method: "bootstrap" };
}
