import type { ChartSeries } from "./chart.ts";
import type { RunRecord } from "./run-record.ts";

/** A metric of the steps of a run, or of its evaluations on one split. */
export interface RecordedMetric {
  readonly name: string;
  /** The split of an evaluation. */
  readonly split?: string;
}

/** Returns every metric that a run recorded, by name. */
export function recordedMetrics({ steps, evaluations }: RunRecord): RecordedMetric[] {
  const ofSteps = new Set(steps.flatMap(({ metrics }) => Object.keys(metrics)));
  const ofEvaluations = new Map(
    evaluations.flatMap(({ split, metrics }) =>
      Object.keys(metrics).map((name) => [JSON.stringify([name, split]), { name, split }] as const),
    ),
  );
  const found: RecordedMetric[] = [...[...ofSteps].map((name) => ({ name })), ...ofEvaluations.values()];
  return found.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
}

/**
 * Returns a metric as a line of a chart with the name `name`. Metrics of evaluations have dots, because they have few
 * values.
 */
export function metricSeries(record: RunRecord, metric: RecordedMetric, name: string): ChartSeries {
  const { split } = metric;
  const events =
    split === undefined ? record.steps : record.evaluations.filter((evaluation) => evaluation.split === split);
  const points = events.filter(({ metrics }) => metrics[metric.name] !== undefined);
  return {
    name,
    metric: split === undefined ? metric.name : `evaluation/${metric.name} of ${split}`,
    xs: points.map(({ step }) => step),
    ys: points.map(({ metrics }) => metrics[metric.name]!),
    ...(split === undefined ? {} : { dots: true }),
  };
}
