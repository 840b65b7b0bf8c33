import { formatNumber, formatPercent } from "../../core/text/format.ts";
import { type ChartScale, chartScale } from "./chart-scale.ts";
import { type ChartPoint, downsample } from "./downsample.ts";
import { type Html, html, jsonForScript } from "./html.ts";
import { shareTick, usesLogScale, valueRange } from "./value-range.ts";
import { visibleText } from "./visible-text.ts";

/** One line of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** The name of the metric, such as `loss/total`. It is the same in every run. */
  readonly metric: string;
  readonly xs: readonly number[];
  /** The values, one per x. A value that is not finite interrupts the line and is marked at the top. */
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
  /** The steps of the x axis. All charts of a report use the same, so that they can be compared. */
  readonly steps: readonly [first: number, last: number];
}

const width = 400;
const height = 210;
const margin = { left: 58, right: 26, top: 10, bottom: 32 };
const plotRight = width - margin.right;
const plotBottom = height - margin.bottom;
const bucketsPerLine = Math.floor((plotRight - margin.left) / 2);

interface DrawnSeries extends Omit<ChartSeries, "xs" | "ys"> {
  readonly points: readonly ChartPoint[];
  /** True if points stand for several values each. */
  readonly thinned: boolean;
}

/** The axis of values. */
interface ValueScale extends ChartScale {
  /** True for a logarithmic axis. Its ends and ticks are exponents of ten. */
  readonly isLog: boolean;
}

/** Converts values to coordinates of the drawing. */
interface Projection {
  readonly left: (x: number) => number;
  readonly top: (y: number) => number;
}

/**
 * Returns a chart as a self-contained figure: an SVG that needs no script, and the data that a script shows on hover.
 */
export function lineChart(chart: LineChart): Html {
  const series = chart.series.map((line): DrawnSeries => {
    const { xs, ys, ...rest } = line;
    const points = downsample({ xs, ys, buckets: bucketsPerLine });
    return { ...rest, points, thinned: points.length < xs.length };
  });
  const x = chartScale({ minimum: chart.steps[0], maximum: chart.steps[1], count: 6, whole: false, integer: true });
  const y = valueScale(chart, series);
  const projection: Projection = {
    left: (value) => round(margin.left + ((value - x.minimum) / (x.maximum - x.minimum)) * (plotRight - margin.left)),
    top: (value) => {
      const place = y.isLog ? Math.log10(Math.max(value, 1e-300)) : value;
      const share = (place - y.minimum) / (y.maximum - y.minimum);
      return round(plotBottom - Math.min(1, Math.max(0, share)) * (plotBottom - margin.top));
    },
  };
  const broken = series.flatMap(({ points }) => points).reduce((count, { nonFinite }) => count + nonFinite, 0);
  const range = series.some(({ thinned }) => thinned) ? "shaded: range of neighbouring steps" : undefined;
  const notes = [
    chart.note,
    y.isLog ? "log scale" : undefined,
    range,
    broken > 0 ? `${formatNumber(broken)} not finite (×)` : undefined,
  ];
  const note = notes.filter((part) => part !== undefined).join(" · ");
  const legend = series.length > 1;
  return html`<figure class="chart" data-share="${chart.share === true ? 1 : 0}">
<figcaption><strong>${chart.title}</strong>${note === "" ? undefined : html` <span class="soft">${note}</span>`}</figcaption>
${legend ? html`<ul class="legend">${series.map(legendItem)}</ul>` : undefined}
<div class="plot">
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${describe(chart)}">
${axes({ x, y, projection, share: chart.share === true })}${series.map((line, index) => drawSeries(line, index, projection))}<line class="cursor" y1="${margin.top}" y2="${plotBottom}"/>
</svg>
<div class="tip"></div>
</div>
<script type="application/json">${jsonForScript({
    x: [x.minimum, x.maximum, margin.left / width, plotRight / width],
    series: series.map(hoverData),
  })}</script>
</figure>`;
}

function valueScale(chart: LineChart, series: readonly DrawnSeries[]): ValueScale {
  const isLog = usesLogScale(chart);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let least = low;
  for (const point of series.flatMap(({ points }) => points)) {
    low = Math.min(low, point.low);
    high = Math.max(high, point.high);
    if (point.low > 0) least = Math.min(least, point.low);
  }
  const [minimum, maximum] = isLog
    ? [Math.log10(least), Math.log10(high)]
    : valueRange({ low, high, bounds: chart.bounds });
  return { ...chartScale({ minimum, maximum, count: 5, whole: isLog, integer: isLog }), isLog };
}

function axes(options: { x: ChartScale; y: ValueScale; projection: Projection; share: boolean }): Html {
  const { left, top } = options.projection;
  const label = options.share ? shareTick : formatNumber;
  const rows = options.y.ticks
    .map((tick) => (options.y.isLog ? 10 ** tick : tick))
    .map(
      (tick) => html`<line class="grid" x1="${margin.left}" x2="${plotRight}" y1="${top(tick)}" y2="${top(tick)}"/>
<text class="tick" x="${margin.left - 8}" y="${top(tick) + 4}" text-anchor="end">${label(tick)}</text>
`,
    );
  const columns = options.x.ticks.map(
    (tick) => html`<line class="axis" x1="${left(tick)}" x2="${left(tick)}" y1="${plotBottom}" y2="${plotBottom + 4}"/>
<text class="tick" x="${left(tick)}" y="${plotBottom + 17}" text-anchor="middle">${formatNumber(tick)}</text>
`,
  );
  return html`${rows}${columns}<line class="axis" x1="${margin.left}" x2="${plotRight}" y1="${plotBottom}" y2="${plotBottom}"/>
<text class="tick" x="${plotRight}" y="${height - 3}" text-anchor="end">step</text>
`;
}

function drawSeries(series: DrawnSeries, index: number, { left, top }: Projection): Html {
  const runs = finiteRuns(series.points);
  const x = ({ from, to }: ChartPoint): number => left((from + to) / 2);
  const path = (points: readonly ChartPoint[], value: (point: ChartPoint) => number): string =>
    points.map((point) => `${x(point)} ${top(value(point))}`).join("L");
  const range = runs
    .filter((run) => run.length > 1)
    .map(
      (run) =>
        html`<path class="range s${index}" d="M${path(run, ({ high }) => high)}L${path(run.toReversed(), ({ low }) => low)}Z"/>\n`,
    );
  return html`${series.thinned ? range : undefined}${runs
    .filter((run) => run.length > 1)
    .map((run) => html`<path class="line s${index}" d="M${path(run, ({ y }) => y)}"/>\n`)}${runs
    .filter((run) => series.dots === true || run.length === 1)
    .flatMap((run) =>
      run.map((point) => html`<circle class="dot s${index}" cx="${x(point)}" cy="${top(point.y)}" r="3"/>\n`),
    )}${series.points
    .filter(({ nonFinite }) => nonFinite > 0)
    .map((point) => html`<text class="broken" x="${x(point)}" y="${margin.top + 8}" text-anchor="middle">×</text>\n`)}`;
}

/** Splits points into runs of neighbours that have a value. */
function finiteRuns(points: readonly ChartPoint[]): ChartPoint[][] {
  const runs: ChartPoint[][] = [[]];
  for (const point of points) {
    if (Number.isFinite(point.y)) runs.at(-1)!.push(point);
    else if (runs.at(-1)!.length > 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 0);
}

function legendItem({ name }: DrawnSeries, index: number): Html {
  return html`<li><i class="key s${index}"></i>${name}</li>`;
}

/**
 * Returns the data that the script shows for a series under the pointer: columns, with words for values that are not
 * finite.
 */
function hoverData({ name, points, thinned }: DrawnSeries): Record<string, unknown> {
  const column = (value: (point: ChartPoint) => number): (number | string)[] =>
    points.map((point) => (Number.isFinite(value(point)) ? value(point) : String(value(point))));
  return {
    name: visibleText(name),
    from: column(({ from }) => from),
    to: column(({ to }) => to),
    y: column(({ y }) => y),
    ...(thinned ? { low: column(({ low }) => low), high: column(({ high }) => high) } : {}),
  };
}

function describe(chart: LineChart): string {
  const parts = chart.series.map(({ name, ys }) => {
    const last = ys.findLast(Number.isFinite);
    const format = chart.share === true ? formatPercent : formatNumber;
    return `${name}: ${last === undefined ? "no value" : `last ${format(last)}`}`;
  });
  return `${chart.title} by step. ${parts.join("; ")}.`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
