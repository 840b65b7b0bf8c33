import { formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";
import type { DifferenceVerdict } from "../../src/evaluation/metrics/significant-difference.ts";

/**
 * Returns the label of a metric of an evaluation. Without a definition of correctness there is no accuracy: those
 * metrics count episodes with the highest reward, and their labels say so.
 */
export function metricLabel(name: string, isCorrectDefined: boolean): string {
  if (isCorrectDefined) return name;
  return name === "accuracy" ? "at the top reward" : name.replace(/^pass[@^].*/, "$& at the top reward");
}

/** Formats a metric of an evaluation. Rewards have the environment's own unit. All other metrics are shares. */
export function metricText(name: string, value: number): string {
  return isShare(name) ? formatPercent(value) : formatNumber(value);
}

/**
 * Formats the difference of two metrics with its sign. Shares differ by percentage points: 30 % to 80 % is 50 points,
 * not 50 %.
 */
export function differenceText(name: string, value: number): string {
  const size = Math.abs(value);
  const text = isShare(name) ? `${(100 * size).toFixed(1)} points` : formatNumber(size);
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${text}`;
}

/** Formats an interval of differences with a single unit. */
export function differenceRangeText(
  name: string,
  { low, high }: { readonly low: number; readonly high: number },
): string {
  return `${differenceText(name, low).replace(" points", "")} to ${differenceText(name, high)}`;
}

/** Returns the verdict about a difference in words. */
export function verdictText(verdict: DifferenceVerdict): string {
  return verdict === "unclear" ? "no clear difference" : `B is ${verdict}`;
}

function isShare(name: string): boolean {
  return !/^(reward|component)/.test(name);
}
