import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { formatCount, formatNumber, formatPercent } from "../../../src/core/text/format-numbers.ts";
import type { LineChart } from "../../training/chart.ts";
import { type ChartValues, chartValues } from "./chart-values.ts";
import { shareTick, usesLogScale, valueRange } from "./value-range.ts";

const height = 190;

/** The colours of lines in order. Further lines are dashed. */
const palette = 8;

/** The settings of all curves of a page. */
export interface ChartLook {
  /** From 0 (as recorded) to below 1. */
  readonly smoothing: number;
}

/**
 * Curves over steps. The legend shows the values under the pointer, and charts of one page share the pointer. `colors`
 * has the palette index of each line, by default the line's own index.
 */
export function Chart(props: {
  readonly chart: LineChart;
  readonly look: ChartLook;
  readonly colors?: readonly number[];
}): JSX.Element {
  const { chart, look, colors } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [chosen, setChosen] = useState<boolean>();
  const { least, most } = chart.bounds ?? {};
  // The range between two bounds does not span a power of ten.
  const canBeLog = (least === undefined || most === undefined) && isPositive(chart);
  const isLog = canBeLog && (chosen ?? usesLogScale(chart));
  const values = chartValues(chart, { ...look, isLog });
  const latest = useRef({ chart, values, isLog, colors });
  latest.current = { chart, values, isLog, colors };
  const shape = JSON.stringify([
    isLog,
    colors,
    chart.title,
    chart.series.map(({ name }) => name),
    values.lines.map(({ kind }) => kind),
  ]);
  useEffect(() => {
    const element = place.current!;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(plotOptions(latest.current, element), plotData(latest.current.values), element);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(plotData(values)), [chart, look.smoothing]);
  return (
    <figure>
      <figcaption>
        <b>{chart.title}</b>
        {chart.note !== undefined && <span class="soft">{chart.note}</span>}
        {canBeLog && (
          <button type="button" class="scale" aria-pressed={isLog} onClick={() => setChosen(!isLog)}>
            log
          </button>
        )}
      </figcaption>
      <div ref={place} role="img" aria-label={description(chart)} />
    </figure>
  );
}

/** A description of a chart for screen readers. */
function description({ title, series, share }: LineChart): string {
  const show = share === true ? formatPercent : formatNumber;
  const lasts = series.map(({ name, ys }) => {
    const last = ys.findLast((value) => Number.isFinite(value));
    return `${name} ${last === undefined ? "without values" : show(last)}`;
  });
  return `${title} over steps. Last: ${lasts.join(", ")}.`;
}

function isPositive({ series }: LineChart): boolean {
  const values = series.flatMap(({ ys }) => ys.filter((value) => Number.isFinite(value)));
  return values.some((value) => value > 0) && values.every((value) => value >= 0);
}

interface Drawn {
  readonly chart: LineChart;
  readonly values: ChartValues;
  readonly isLog: boolean;
  readonly colors: readonly number[] | undefined;
}

function plotOptions({ chart, values, isLog, colors }: Drawn, element: HTMLElement): uPlot.Options {
  const styles = getComputedStyle(element);
  const color = (name: string): string => styles.getPropertyValue(`--${name}`).trim();
  const [ink, grid] = [color("soft"), color("grid")];
  const show = chart.share === true ? formatPercent : formatNumber;
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1 },
    font: "11px system-ui",
  };
  const colorOf = (series: number): number => colors?.[series] ?? series;
  const lines = values.lines.map(({ series, kind }): uPlot.Series => {
    const { name, dots, xs } = chart.series[series]!;
    const stroke = color(`s${colorOf(series) % palette}`);
    const value = (_: uPlot, raw: number | null): string => (raw === null ? "–" : show(raw));
    if (kind === "raw") return { class: "edge", stroke: `${stroke}50`, width: 1, points: { show: false }, value };
    return {
      label: name,
      stroke,
      width: 1.5,
      value,
      // A single value is not a line.
      points: { show: dots === true || xs.length === 1, size: 5, fill: stroke },
      spanGaps: dots === true || colors !== undefined,
      ...(colorOf(series) >= palette ? { dash: [6, 3] } : {}),
    };
  });
  const tick = chart.share === true ? shareTick : formatNumber;
  return {
    width: element.clientWidth,
    height,
    // The last tick of the steps is centred on the right edge, so half of it needs space.
    padding: [8, 18, 0, 0],
    series: [{ label: "step", value: (_, step: number | null) => (step === null ? "–" : formatCount(step)) }, ...lines],
    scales: {
      x: { time: false, range: (_, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) },
      y: isLog ? { distr: 3, log: 10 } : { range: (_, low, high) => axisRange(chart, low, high) },
    },
    axes: [
      { ...axis, size: 26, incrs: wholeSteps },
      {
        ...axis,
        size: axisWidth,
        space: 28,
        values: (_, ticks) => ticks.map((value) => (value === null ? "" : tick(value))),
      },
    ],
    cursor: { sync: { key: "steps" }, points: { size: 6 }, drag: { x: true, y: false } },
    legend: { live: true },
    hooks: { ready: [showLast], setData: [showLast], setCursor: [showLast] },
  };
}

/** The distances between ticks. Steps have no fractions. */
const wholeSteps = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

/** The width of the longest tick. It is similar for most charts, so that they align. */
function axisWidth(_: uPlot, ticks: readonly string[] | null): number {
  return Math.max(54, 16 + 6.5 * Math.max(0, ...(ticks ?? []).map(({ length }) => length)));
}

/** Without a pointer, the legend shows the last step. */
function showLast(plot: uPlot): void {
  const { idx } = plot.cursor;
  if (idx === null || idx === undefined) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function axisRange({ bounds }: LineChart, low: number | null, high: number | null): [low: number, high: number] {
  return valueRange({ low: low ?? Number.POSITIVE_INFINITY, high: high ?? Number.NEGATIVE_INFINITY, bounds });
}

function plotData({ steps, lines }: ChartValues): uPlot.AlignedData {
  return [steps, ...lines.map(({ values }) => values)] as uPlot.AlignedData;
}
