/** The latest values of a metric, and summaries of earlier ones. */
export interface MetricWindow {
  /** The last values. Their number is at most the window size. */
  readonly values: readonly number[];
  /** The differences between successive values: their number, and the sum of their squares. */
  readonly differences: { readonly count: number; readonly squares: number };
  /** The first full window. */
  readonly first?: WindowSummary;
  /** The last full window. */
  readonly now?: WindowSummary;
  /** The full window with the highest mean so far. */
  readonly best?: WindowSummary;
  /** The full window with the lowest mean so far. */
  readonly lowest?: WindowSummary;
}

/** The summary of a full window. */
export interface WindowSummary {
  /** The step of its last value. */
  readonly step: number;
  readonly mean: number;
  /** The standard error of the mean, for values that are independent except for a trend. */
  readonly standardError: number;
}

/** A window without values. */
export const emptyWindow: MetricWindow = { values: [], differences: { count: 0, squares: 0 } };

/** Returns the window after one more value. */
export function addToWindow(
  window: MetricWindow,
  next: { readonly step: number; readonly value: number; readonly width: number },
): MetricWindow {
  const values = [...window.values, next.value].slice(-next.width);
  const last = window.values.at(-1);
  const { count, squares } = window.differences;
  const differences =
    last === undefined ? { count, squares } : { count: count + 1, squares: squares + (next.value - last) ** 2 };
  if (values.length < next.width) return { ...window, values, differences };
  // Shifts by the first value, so that constant values have exactly that mean.
  const [shift] = values as [number];
  const mean = shift + values.reduce((sum, value) => sum + (value - shift), 0) / values.length;
  // The variance without a trend is half the mean squared difference of successive values (von Neumann 1941).
  const variance = differences.squares / (2 * differences.count);
  const now: WindowSummary = { step: next.step, mean, standardError: Math.sqrt(variance / values.length) };
  const { first = now, best = now, lowest = now } = window;
  return {
    values,
    differences,
    first,
    now,
    best: mean > best.mean ? now : best,
    lowest: mean < lowest.mean ? now : lowest,
  };
}
