/** One point of a chart, which stands for one or several neighbouring values of a series. */
export interface ChartPoint {
  /** The first and the last x of the values. Equal for a single value. */
  readonly from: number;
  readonly to: number;
  /** The lowest and the highest finite value. `low` is above `high` if there are none. */
  readonly low: number;
  readonly high: number;
}

/**
 * Reduces a series to at most `2 * buckets` points. If it has more values, they are grouped in buckets of equal width
 * along `xs`. Each bucket keeps its lowest and highest value, so that a spike of one step keeps its height. `xs` must
 * be ascending.
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
      low: finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      high: finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
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
