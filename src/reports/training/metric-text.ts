import { formatNumber, formatPercent } from "../../core/text/format.ts";

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

function isShare(name: string): boolean {
  return !/^(reward|component)/.test(name);
}
