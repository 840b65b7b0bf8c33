import type { ChartSeries, LineChart } from "../../training/chart.ts";
import type { ChartSection } from "../../training/report-charts.ts";

/** A chart of one metric with a line for each run that has it. */
export interface OverlaidChart extends LineChart {
  /** The index of each line's run. */
  readonly runs: readonly number[];
}

/** Charts of several runs under one heading. */
export interface OverlaidSection extends Omit<ChartSection, "charts"> {
  readonly charts: readonly OverlaidChart[];
}

/** Returns charts of several runs in one, metric by metric. Each line has the name of its run. */
export function overlaidCharts(
  runs: readonly { readonly name: string; readonly sections: readonly ChartSection[] }[],
): OverlaidSection[] {
  const titles = [...new Set(runs.flatMap(({ sections }) => sections.map(({ title }) => title)))];
  const order = (title: string): number =>
    Math.max(...runs.map(({ sections }) => sections.findIndex((section) => section.title === title)));
  titles.sort((one, other) => order(one) - order(other));
  return titles.map((title) => {
    const parts = runs.map(({ sections }) => sections.find((section) => section.title === title));
    const { collapsed } = parts.find((part) => part !== undefined)!;
    const metrics = new Map<string, OverlaidChart>();
    for (const [run, part] of parts.entries()) {
      for (const chart of part?.charts ?? []) {
        for (const series of chart.series) addLine(metrics, { chart, series, run, name: runs[run]!.name });
      }
    }
    return { title, ...(collapsed === undefined ? {} : { collapsed }), charts: [...metrics.values()] };
  });
}

function addLine(
  metrics: Map<string, OverlaidChart>,
  line: { readonly chart: LineChart; readonly series: ChartSeries; readonly run: number; readonly name: string },
): void {
  const { chart, series, run, name } = line;
  const known = metrics.get(series.metric);
  const { title, steps, ...rest } = chart;
  const own = { series: [{ ...series, name }], runs: [run], steps };
  if (known === undefined) {
    const isNamed = chart.series.length === 1 || title.endsWith(`: ${series.name}`);
    metrics.set(series.metric, { ...rest, title: isNamed ? title : `${title}: ${series.name}`, ...own });
    return;
  }
  metrics.set(series.metric, {
    ...known,
    series: [...known.series, ...own.series],
    runs: [...known.runs, run],
    steps: [Math.min(known.steps[0], steps[0]), Math.max(known.steps[1], steps[1])],
  });
}
