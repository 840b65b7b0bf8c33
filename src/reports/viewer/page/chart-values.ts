import type { ChartSeries, LineChart } from "../../training/line-chart.ts";
import { smoothed } from "./smoothed.ts";

/** A line of a drawn chart: values as they were recorded or without their noise, or faint behind these. */
export interface DrawnLine {
  /** The place of its series in the chart. */
  readonly series: number;
  readonly kind: "value" | "raw";
  readonly values: readonly (number | null)[];
}

/** A chart's steps, and the values of each of its lines over them; null where a line has none. */
export interface ChartValues {
  readonly steps: readonly number[];
  readonly lines: readonly DrawnLine[];
}

/**
 * All lines over the steps of any of them. With a `smoothing` above 0, a line is drawn faint as it is and strong without
 * its noise; dots stay as they are. On a log scale, values of 0 and below are gaps.
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

/** The values of a line over all steps of its chart. */
function valuesOver(
  steps: readonly number[],
  { xs }: ChartSeries,
  values: readonly (number | null)[],
): (number | null)[] {
  const byStep = new Map(xs.map((x, index) => [x, values[index] ?? null]));
  return steps.map((step) => byStep.get(step) ?? null);
}
