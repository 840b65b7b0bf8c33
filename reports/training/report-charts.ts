import type { ChartSeries, LineChart } from "./chart.ts";
import { type ChartPlan, sectionPlans } from "./chart-plans.ts";
import { metricSeries, type RecordedMetric, recordedMetrics } from "./metric-series.ts";
import type { RunRecord } from "./run-record.ts";
import { lineGroups, scaleGroups } from "./scale-groups.ts";

/** The charts under one heading. */
export interface ChartSection {
  readonly title: string;
  readonly charts: readonly LineChart[];
  /** True if the section is shown only on request. */
  readonly collapsed?: true;
}

/**
 * Returns charts of all metrics that a run recorded, in sections by importance. A chart has one metric, or several with
 * the same unit and scale. Metrics that no section knows have their own charts in the last section.
 */
export function reportCharts(record: RunRecord): ChartSection[] {
  const left = new Set(recordedMetrics(record));
  const rest = (): LineChart[] =>
    [...Map.groupBy(left, groupName)].flatMap(([title, metrics]) =>
      charts(
        record,
        { title, metrics: [] },
        metrics.map((metric) => metricSeries(record, metric, lineName(metric))),
      ),
    );
  const known = sectionPlans.map(({ charts: plans, ofEvaluations = false, ...section }) => ({
    ...section,
    charts: plans.flatMap((plan) => charts(record, plan, takeLines({ record, plan, left, ofEvaluations }))),
  }));
  return [...known, { title: "All other metrics", collapsed: true as const, charts: rest() }].filter(
    (section) => section.charts.length > 0,
  );
}

/** Returns the lines of a plan, and removes their metrics from those that are left. */
function takeLines(options: {
  readonly record: RunRecord;
  readonly plan: ChartPlan;
  readonly left: Set<RecordedMetric>;
  readonly ofEvaluations: boolean;
}): ChartSeries[] {
  const { record, plan, left, ofEvaluations } = options;
  const candidates = [...left].filter(({ split }) => (split !== undefined) === ofEvaluations);
  const found = plan.metrics.flatMap((pattern, place) =>
    candidates.flatMap((metric) => {
      const match = pattern.exec(metric.name);
      if (match === null) return [];
      const [, name] = match;
      return [{ metric, own: plan.names?.[place] ?? (name === undefined ? name : `${plan.prefix ?? ""}${name}`) }];
    }),
  );
  const lines = found.map(({ metric, own }) => {
    // Next to the lines of single agents, the line of the whole run is their mean.
    const whole = found.some((other) => other.own !== undefined) ? "mean" : plan.title.toLowerCase();
    return metricSeries(
      record,
      metric,
      seriesName({ record, metric, own: own ?? (ofEvaluations ? undefined : whole) }),
    );
  });
  const [line] = lines;
  if (lines.length === 1 && line !== undefined && plan.unlessSameAs !== undefined) {
    const { split } = found[0]!.metric;
    const same = metricSeries(record, { name: plan.unlessSameAs, ...(split === undefined ? {} : { split }) }, "");
    if (JSON.stringify(same.ys) === JSON.stringify(line.ys)) return [];
  }
  for (const { metric } of found) left.delete(metric);
  return lines;
}

/** Returns the name of a line, by which it differs from the others of its chart. */
function seriesName(options: {
  readonly record: RunRecord;
  readonly metric: RecordedMetric;
  readonly own: string | undefined;
}): string {
  const { record, metric, own } = options;
  const isOneOfSeveral = record.evaluations.some(({ split }) => split !== metric.split);
  const split = own === undefined || isOneOfSeveral ? metric.split : undefined;
  return [own, split].filter((part) => part !== undefined).join(", ");
}

function charts(record: RunRecord, plan: ChartPlan, lines: readonly ChartSeries[]): LineChart[] {
  const { note, share, isReward, together, divisor = 1, unlessAll } = plan;
  const title = plan.title.replace("{part}", record.start?.agents === undefined ? "environment" : "agent");
  const drawn = lines.map((line) => (divisor === 1 ? line : { ...line, ys: line.ys.map((y) => y / divisor) }));
  if (drawn.every(({ ys }) => ys.every((y) => y === unlessAll))) return [];
  const [least, most] = share === true ? [0, 1] : isReward === true ? rangeOf(record) : [];
  const bounds = { ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) };
  return (together === true ? lineGroups(drawn) : scaleGroups(drawn)).map((series, _, all) => ({
    // The title of a chart with a single line contains the name of the line.
    title: all.length > 1 && series.length === 1 ? `${title}: ${series[0]!.name}` : title,
    ...(note === undefined ? {} : { note }),
    series,
    ...(share === undefined ? {} : { share }),
    ...(Object.keys(bounds).length === 0 ? {} : { bounds }),
    steps: stepsOf(record),
  }));
}

function rangeOf({ start }: RunRecord): (number | undefined)[] {
  return (start?.rewardRange ?? []).map((bound) => (Number.isFinite(bound) ? bound : undefined));
}

function stepsOf({ steps, evaluations }: RunRecord): [first: number, last: number] {
  const all = [...steps, ...evaluations].map(({ step }) => step);
  return [
    all.reduce((one, other) => Math.min(one, other), all[0] ?? 0),
    all.reduce((one, other) => Math.max(one, other), 1),
  ];
}

/** Returns the same name for metrics that differ only by their turn or agent, so that they share a chart. */
function groupName({ name, split }: RecordedMetric): string {
  const alike = name.replace(/^rollout\/turn-\d+\//, "by turn: ").replace(/^agents\/[^/]+\//, "by agent: ");
  return split === undefined ? alike : `evaluation: ${alike}`;
}

function lineName({ name, split }: RecordedMetric): string {
  const own = /^rollout\/turn-(\d+)\//.exec(name)?.[1];
  const line = own === undefined ? (/^agents\/([^/]+)\//.exec(name)?.[1] ?? name) : `turn ${own}`;
  return split === undefined ? line : `${line}, ${split}`;
}
