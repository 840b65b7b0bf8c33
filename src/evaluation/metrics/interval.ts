import { createRandom } from "../../core/random/random.ts";
import type { Interval } from "../log/summary.ts";

/** The 97.5th percentile of the normal distribution. */
const z = 1.959963984540054;

/** How many times tasks are drawn again. */
const resamples = 1_000;

/**
 * The 95 % interval of a mean over tasks: Wilson's score interval (Wilson 1927) where every value is 0 or 1, else the
 * bootstrap's percentiles (Efron 1979), drawn from a fixed seed. Undefined for fewer than two values.
 */
export function meanInterval(values: readonly number[]): Interval | undefined {
  if (values.length < 2) return undefined;
  const isShare = values.every((value) => value === 0 || value === 1);
  return isShare ? wilsonInterval({ count: sum(values), of: values.length }) : bootstrapInterval(values);
}

/** Wilson's score interval of a share: (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n). */
export function wilsonInterval({ count, of }: { readonly count: number; readonly of: number }): Interval {
  const share = count / of;
  const square = (z * z) / of;
  const middle = share + square / 2;
  const half = z * Math.sqrt((share * (1 - share)) / of + square / (4 * of));
  // At the ends the interval touches 0 or 1 exactly; rounding may miss it.
  const low = count === 0 ? 0 : (middle - half) / (1 + square);
  const high = count === of ? 1 : (middle + half) / (1 + square);
  return { low, high, level: 0.95, method: "wilson" };
}

/** The percentiles of 1,000 means of as many values, drawn again from a fixed seed. */
export function bootstrapInterval(values: readonly number[]): Interval {
  const means = drawAgain(values, (drawn) => sum(drawn) / values.length);
  return percentileInterval(means);
}

/** What `estimate` makes of as many values as there are, drawn again 1,000 times from a fixed seed. */
export function drawAgain<T, Estimate>(values: readonly T[], estimate: (drawn: readonly T[]) => Estimate): Estimate[] {
  const random = createRandom(0);
  const last = values.length - 1;
  return Array.from({ length: resamples }, () => estimate(values.map(() => values[random.integer(0, last)]!)));
}

/** The interval between the 2.5th and 97.5th percentile of drawn estimates. */
export function percentileInterval(estimates: readonly number[]): Interval {
  const sorted = Float64Array.from(estimates).sort();
  const last = sorted.length - 1;
  const low = sorted[Math.floor(0.025 * last)]!;
  const high = sorted[Math.ceil(0.975 * last)]!;
  return { low, high, level: 0.95, method: "bootstrap" };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
