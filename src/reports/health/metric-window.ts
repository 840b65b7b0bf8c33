/** The latest values of a metric, and what it was before. */
export interface MetricWindow {
  /** The last values, at most as many as the window is wide. */
  readonly values: readonly number[];
  /** How the metric wavers from value to value, over all of them: how many differences, and the sum of their squares. */
  readonly differences: { readonly count: number; readonly squares: number };
  /** The first full window. */
  readonly first?: WindowSummary;
  /** The last full window. */
  readonly now?: WindowSummary;
  /** The full window of the greatest mean so far. */
  readonly best?: WindowSummary;
  /** The full window of the least mean so far. */
  readonly lowest?: WindowSummary;
}

/** A full window in numbers. */
export interface WindowSummary {
  /** The step of its last value. */
  readonly step: number;
  readonly mean: number;
  /** Of the mean, for values that are independent but for a trend. */
  readonly standardError: number;
}

/** A window that holds nothing yet. */
export const emptyWindow: MetricWindow = { values: [], differences: { count: 0, squares: 0 } };

/** The window after one more value. */
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
  // Shifted by the first value: what is constant has exactly that mean.
  const [shift] = values as [number];
  const mean = shift + values.reduce((sum, value) => sum + (value - shift), 0) / values.length;
  // Half the mean square of differences between neighbours is the variance, a trend left out (von Neumann 1941).
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
