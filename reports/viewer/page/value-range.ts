import type { LineChart } from "../../training/chart.ts";

/** The values that an axis must show. */
export interface ValueExtent {
  /** The lowest and the highest finite value. `low` is above `high` if there are none. */
  readonly low: number;
  readonly high: number;
  /** The limits of possible values. The axis does not exceed them. */
  readonly bounds?: { readonly least?: number | undefined; readonly most?: number | undefined } | undefined;
}

/** The share of the range that stays free above and below the values. */
const room = 0.05;

/** The minimum span of an axis, as a share of its values or bounds. A smaller span would show noise as a change. */
const narrowest = 0.05;

/**
 * Returns the range of a linear axis. It fits the values, includes 0 if that takes less than half of it, and stays
 * within the bounds. Without values it is the bounds, or 0 to 1.
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
  // Values beyond a bound are shown, because they indicate an error.
  return [Math.max(from, Math.min(least, low)), Math.min(to, Math.max(most, high))];
}

/** Values that span this factor get a logarithmic axis. */
const wide = 1_000;

/**
 * Returns true for values that need a logarithmic axis: all are positive, and their span is not due to a single
 * outlier.
 */
function spansMagnitudes(values: readonly number[]): boolean {
  const sorted = values.filter(Number.isFinite).sort((one, other) => one - other);
  if (sorted.length < 4 || sorted[0]! < 0) return false;
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))]!;
  const [low, high] = [at(0.1), at(0.9)];
  return low > 0 && high / low >= wide;
}

/** Returns true if the axis of a chart is logarithmic, because its values span several powers of ten. */
export function usesLogScale({ series, share }: LineChart): boolean {
  return share !== true && spansMagnitudes(series.flatMap(({ ys }) => ys));
}

/** Formats a share at an axis, with as many digits as it needs. */
export function shareTick(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
