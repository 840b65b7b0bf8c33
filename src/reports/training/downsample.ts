/** Neighbouring values of a series as one point of a chart. */
export interface ChartPoint {
  /** The first and the last x that the point stands for; equal where it stands for one value. */
  readonly from: number;
  readonly to: number;
  /** Mean of the finite values; NaN where there is none. */
  readonly y: number;
  /** Least and greatest finite value. */
  readonly low: number;
  readonly high: number;
  /** Values that are NaN or infinite. */
  readonly nonFinite: number;
}

/**
 * A series as at most `2 * buckets` points: one per value where there are no more than that, else one per bucket of
 * equal width along `xs`, which keeps its least and greatest value, so that a spike of one step stays as tall as it
 * was. `xs` ascends.
 */
export function downsample(series: {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  readonly buckets: number;
}): ChartPoint[] {
  const { xs, ys, buckets } = series;
  const point = (start: number, end: number): ChartPoint => {
    const finite = ys.slice(start, end).filter(Number.isFinite);
    return {
      from: xs[start]!,
      to: xs[end - 1]!,
      y: mean(finite) ?? Number.NaN,
      low: finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      high: finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
      nonFinite: end - start - finite.length,
    };
  };
  if (xs.length <= 2 * buckets) return xs.map((_, index) => point(index, index + 1));
  const first = xs[0]!;
  const width = (xs.at(-1)! - first) / buckets;
  const points: ChartPoint[] = [];
  for (let start = 0; start < xs.length; ) {
    const bucket = Math.min(buckets - 1, Math.floor((xs[start]! - first) / width));
    let end = start + 1;
    while (end < xs.length && Math.min(buckets - 1, Math.floor((xs[end]! - first) / width)) === bucket) end++;
    points.push(point(start, end));
    start = end;
  }
  return points;
}

function mean(values: readonly number[]): number | undefined {
  // Divided first: the sum of finite values may be infinite.
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value / values.length, 0);
}
