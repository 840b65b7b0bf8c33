/** The range of an axis, and its labelled values. */
export interface ChartScale {
  readonly minimum: number;
  readonly maximum: number;
  readonly ticks: readonly number[];
}

/**
 * Returns an axis for finite values with about `count` round ticks (steps of 1, 2 or 5 times a power of ten). With
 * `whole`, the axis is extended to whole ticks. A single value gets room on both sides.
 */
export function chartScale(options: {
  readonly minimum: number;
  readonly maximum: number;
  readonly count: number;
  readonly whole: boolean;
  /** True if ticks are whole numbers. */
  readonly integer?: boolean;
}): ChartScale {
  // Values at the ends of the number range would overflow or vanish in the arithmetic below.
  let minimum = Math.max(options.minimum, -1e300);
  let maximum = Math.min(options.maximum, 1e300);
  // Differences below the precision of the values cannot be drawn.
  const smallest = Math.max(1e-290, Math.max(Math.abs(minimum), Math.abs(maximum)) * 1e-9);
  if (maximum - minimum <= smallest) {
    const room = Math.abs(maximum) > 1e-280 ? Math.abs(maximum) * 0.1 : 1;
    minimum -= room;
    maximum += room;
  }
  const rough = (maximum - minimum) / options.count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10;
  const step = options.integer === true ? Math.max(1, Math.round(factor * power)) : factor * power;
  if (options.whole) {
    minimum = Math.floor(minimum / step + 1e-9) * step;
    maximum = Math.ceil(maximum / step - 1e-9) * step;
  }
  const first = Math.ceil(minimum / step - 1e-9);
  const last = Math.floor(maximum / step + 1e-9);
  const ticks = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
  return { minimum, maximum, ticks };
}
