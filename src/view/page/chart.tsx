import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatCount, formatNumber, formatPercent } from "../../report/format.ts";
import type { ChartSeries, LineChart } from "../../report/line-chart.ts";

const height = 200;

/** Curves over steps; the values under the pointer stand in the legend, and charts of one page share the pointer. */
export function Chart({ chart }: { readonly chart: LineChart }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(chart);
  latest.current = chart;
  const shape = JSON.stringify(chart.series.map(({ name, spread }) => [name, spread?.name]));
  useEffect(() => {
    const element = place.current!;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(plotOptions(latest.current, element), plotData(latest.current), element);
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
  useEffect(() => plot.current?.setData(plotData(chart)), [chart]);
  return (
    <figure>
      <figcaption>
        <b>{chart.title}</b>
        {chart.note !== undefined && <span class="soft"> {chart.note}</span>}
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

function plotOptions(chart: LineChart, element: HTMLElement): uPlot.Options {
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
  const lines = chart.series.flatMap(({ name, dots, spread }, index): uPlot.Series[] => {
    const stroke = color(`s${index % 6}`);
    const value = (_: uPlot, raw: number | null): string => (raw === null ? "–" : show(raw));
    const line = {
      label: name,
      stroke,
      width: 1.5,
      value,
      points: { show: dots === true, size: 5 },
      spanGaps: dots === true,
    };
    const edge = { class: "edge", stroke: "transparent", points: { show: false }, value };
    return spread === undefined ? [line] : [line, edge, edge];
  });
  let place = 1;
  const bands = chart.series.flatMap(({ spread }, index): uPlot.Band[] => {
    const first = place;
    place += spread === undefined ? 1 : 3;
    return spread === undefined ? [] : [{ series: [first + 1, first + 2], fill: `${color(`s${index % 6}`)}28` }];
  });
  return {
    width: element.clientWidth,
    height,
    series: [{ label: "step", value: (_, step: number | null) => (step === null ? "–" : formatCount(step)) }, ...lines],
    bands,
    scales: { x: { time: false }, y: { range: yRange(chart) } },
    axes: [
      { ...axis, size: 26, incrs: wholeSteps },
      { ...axis, size: 52, space: 28, values: (_, ticks) => ticks.map((tick) => tickText(tick, chart)) },
    ],
    cursor: { sync: { key: "steps" }, points: { size: 6 }, drag: { x: true, y: false } },
    legend: { live: true },
    hooks: { ready: [showLast], setData: [showLast], setCursor: [showLast] },
  };
}

/** Distances between ticks: there is no half of a step. */
const wholeSteps = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

/** Away from the pointer, the legend has the last step. */
function showLast(plot: uPlot): void {
  const { idx } = plot.cursor;
  if (idx === null || idx === undefined) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function tickText(value: number, { share }: LineChart): string {
  return share === true ? `${Math.round(100 * value)}%` : formatNumber(value);
}

function yRange({ share, fromZero }: LineChart): uPlot.Range.Function {
  return (_, low, high) => {
    if (share === true) return [0, 1];
    if (low === null || high === null) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    return [fromZero === true ? Math.min(0, low) : low - room, high + room];
  };
}

/** All lines over the steps of any of them; null where a line has no value. */
function plotData({ series }: LineChart): uPlot.AlignedData {
  const steps = [...new Set(series.flatMap(({ xs }) => xs))].sort((one, other) => one - other);
  return [steps, ...series.flatMap((line) => valuesOver(steps, line))] as uPlot.AlignedData;
}

function valuesOver(steps: readonly number[], { xs, ys, spread }: ChartSeries): (number | null)[][] {
  const over = (values: readonly (number | null)[]): (number | null)[] => {
    const byStep = new Map(xs.map((x, index) => [x, values[index] ?? null]));
    return steps.map((step) => byStep.get(step) ?? null);
  };
  if (spread === undefined) return [over(ys)];
  const edge = (sign: 1 | -1): (number | null)[] =>
    over(ys.map((y, index) => (y === null ? null : y + sign * (spread.values[index] ?? 0))));
  return [over(ys), edge(1), edge(-1)];
}
