/** One line of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** The name of the metric, such as `loss/total`. It is the same in every run. */
  readonly metric: string;
  readonly xs: readonly number[];
  /** The values, one per x. A value that is not finite interrupts the line. */
  readonly ys: readonly number[];
  /** True to draw a dot at each value, for metrics with few values. */
  readonly dots?: boolean;
}

/** A chart of metrics over steps. */
export interface LineChart {
  readonly title: string;
  /** A short description next to the title. */
  readonly note?: string;
  readonly series: readonly ChartSeries[];
  /** True if the values are shares from 0 to 1, which are drawn as percentages. */
  readonly share?: boolean;
  /** The limits of possible values, such as the range of rewards. The axis does not exceed them. */
  readonly bounds?: { readonly least?: number; readonly most?: number };
  /** The steps of the x axis. All charts of a run use the same, so that they can be compared. */
  readonly steps: readonly [first: number, last: number];
}
