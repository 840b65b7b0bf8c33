import { formatNumber, formatPercent } from "../../report/format.ts";

/** A figure of an evaluation: rewards are in the environment's own unit, all else is a share. */
export function metricText(name: string, value: number): string {
  return /^(reward|component)/.test(name) ? formatNumber(value) : formatPercent(value);
}

/** A difference, with its sign; its size as `text` says it. */
export function differenceText(value: number, text: (size: number) => string): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${text(Math.abs(value))}`;
}
