import type { LineChart } from "./line-chart.ts";

/** What an axis must show, and how. */
export interface ValueExtent {
  /** The least and the greatest finite value; `low` above `high` if there is none. */
  readonly low: number;
  readonly high: number;
  /** Values cannot be beyond these, so the axis does not go there. */
  readonly bounds?: { readonly least?: number | undefined; readonly most?: number | undefined } | undefined;
}

/** Share of the values' distance that stays free above and below them. */
const room = 0.05;

/** An axis never spans less than this share of its values or bounds: noise would look like a change. */
const narrowest = 0.05;

/**
 * Where a linear axis begins and ends. It fits the values, shows 0 if that takes less than half of it, and stays within
 * the bounds. Without values, it is the bounds, or 0 to 1.
 */
export function valueRange({ low, high, bounds = {} }: ValueExtent): [low: number, high: number] {
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = bounds;
  if (!(low <= high)) return [Number.isFinite(least) ? least : 0, Number.isFinite(most) ? most : 1];
  const size = Number.isFinite(most - least) ? most - least : Math.max(Math.abs(low), Math.abs(high)) || 1;
  const missing = Math.max(0, size * narrowest - (high - low)) / 2;
  let [from, to] = [low - missing, high + missing];
  const free = (to - from) * room;
  [from, to] = [from - free, to + free];
  if (low >= 0 && high > 0 && low <= high - low) from = 0;
  if (high <= 0 && low < 0 && -high <= high - low) to = 0;
  // A bound that values break shows the values: they tell that something is wrong.
  return [Math.max(from, Math.min(least, low)), Math.min(to, Math.max(most, high))];
}

/** Values that span this factor are drawn over powers of ten. */
const wide = 1_000;

/** Whether values are better seen over powers of ten: all are positive, and nearly all of the span is not an outlier's. */
function spansMagnitudes(values: readonly number[]): boolean {
  const sorted = values.filter(Number.isFinite).sort((one, other) => one - other);
  if (sorted.length < 4 || sorted[0]! < 0) return false;
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))]!;
  const [low, high] = [at(0.1), at(0.9)];
  return low > 0 && high / low >= wide;
}

/** Whether a chart's axis is over powers of ten: its values span several of them. */
export function usesLogScale({ series, share }: LineChart): boolean {
  return share !== true && spansMagnitudes(series.flatMap(({ ys }) => ys));
}

/** A share at the side of an axis: with as many digits as it needs. */
export function shareTick(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
