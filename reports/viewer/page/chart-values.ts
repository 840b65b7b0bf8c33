import type { ChartSeries, LineChart } from "../../training/chart.ts";
import { smoothed } from "./smoothed.ts";

/** A line of a drawn chart: recorded values, smoothed values, or faint recorded values behind smoothed ones. */
export interface DrawnLine {
  /** The index of its series in the chart. */
  readonly series: number;
  readonly kind: "value" | "raw";
  readonly values: readonly (number | null)[];
}

/** A chart's steps, and the values of each of its lines at them. Null if a line has no value. */
export interface ChartValues {
  readonly steps: readonly number[];
  readonly lines: readonly DrawnLine[];
}

/**
 * Returns all lines over the union of their steps. With a `smoothing` above 0, the recorded line is faint and a
 * smoothed line is strong. Dots are unchanged. On a log scale, values of 0 and below are gaps.
 */
export function chartValues(
  chart: LineChart,
  { smoothing, isLog }: { readonly smoothing: number; readonly isLog: boolean },
): ChartValues {
  const steps = [...new Set(chart.series.flatMap(({ xs }) => xs))].sort((one, other) => one - other);
  const drawable = (value: number | null): number | null =>
    value === null || !Number.isFinite(value) || (isLog && value <= 0) ? null : value;
  const lines = chart.series.flatMap((line, series): DrawnLine[] => {
    const over = (values: readonly (number | null)[]): (number | null)[] =>
      valuesOver(steps, line, values).map(drawable);
    const values = over(line.ys);
    if (smoothing > 0 && line.dots !== true) {
      return [
        { series, kind: "raw", values },
        { series, kind: "value", values: smoothed(values, smoothing) },
      ];
    }
    return [{ series, kind: "value", values }];
  });
  return { steps, lines };
}

/** Returns the values of a line at all steps of its chart. */
function valuesOver(
  steps: readonly number[],
  { xs }: ChartSeries,
  values: readonly (number | null)[],
): (number | null)[] {
  const byStep = new Map(xs.map((x, index) => [x, values[index] ?? null]));
  return steps.map((step) => byStep.get(step) ?? null);
}
