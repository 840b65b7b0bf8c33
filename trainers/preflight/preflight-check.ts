import type { PreflightCheck } from "../../src/contract/training-event.ts";
import { formatNumber } from "../../src/core/text/format-numbers.ts";

/** Returns a check that found nothing wrong. `detail` says what was compared. */
export function passed(name: PreflightCheck["name"], detail: string): PreflightCheck {
  return { name, status: "passed", detail };
}

/** Returns a check that found a fault. `detail` says what is wrong, and `cause` where to look. */
export function failed(name: PreflightCheck["name"], detail: string, cause: string): PreflightCheck {
  return { name, status: "failed", detail, cause };
}

/** Returns a check that could not be made. `detail` says why. */
export function skipped(name: PreflightCheck["name"], detail: string): PreflightCheck {
  return { name, status: "skipped", detail };
}

/** The mean and the largest difference of two lists of log-probabilities. */
export interface Difference {
  readonly mean: number;
  readonly max: number;
}

/** Returns the difference of two lists of log-probabilities of equal length. NaN counts as infinite. */
export function differenceOf(first: readonly number[], second: readonly number[]): Difference {
  const distances = first.map((value, index) => {
    const distance = Math.abs(value - second[index]!);
    return Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
  });
  const sum = distances.reduce((total, distance) => total + distance, 0);
  return { mean: distances.length === 0 ? 0 : sum / distances.length, max: Math.max(0, ...distances) };
}

/** Returns a text such as `0.0012 on average, 0.03 at most`. */
export function differenceText({ mean, max }: Difference): string {
  return `${formatNumber(mean)} on average, ${formatNumber(max)} at most`;
}
