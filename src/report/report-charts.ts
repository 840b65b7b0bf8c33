import type { ChartSeries, LineChart } from "./line-chart.ts";
import type { RunRecord } from "./run-record.ts";

/** The charts of a report: the ones that everybody looks for first, and one for every other group of metrics. */
export interface ReportCharts {
  readonly main: readonly LineChart[];
  readonly other: readonly LineChart[];
}

/** The most lines that one chart of other metrics shows. */
const seriesPerChart = 6;

/** Charts for whatever metrics the run recorded; a metric that never occurred has no chart. */
export function reportCharts(record: RunRecord): ReportCharts {
  const names = new Set(record.steps.flatMap(({ metrics }) => Object.keys(metrics)));
  const allSteps = [...record.steps, ...record.evaluations].map(({ step }) => step);
  const steps: [number, number] = [
    allSteps.reduce((a, b) => Math.min(a, b), allSteps[0] ?? 0),
    allSteps.reduce((a, b) => Math.max(a, b), allSteps[0] ?? 1),
  ];
  const used = new Set<string>();
  const main: LineChart[] = [];
  const add = (chart: Omit<LineChart, "steps">): void => {
    if (chart.series.length > 0) main.push({ ...chart, steps });
  };
  /** Series of those named metrics that occurred; they are then no longer among the others. */
  const take = (metrics: readonly string[], labels: Readonly<Record<string, string>> = {}): ChartSeries[] =>
    metrics.flatMap((name) => {
      if (!names.has(name) || used.has(name)) return [];
      used.add(name);
      return [stepSeries(record, name, labels[name] ?? name)];
    });
  const named = (pattern: RegExp): string[] => [...names].filter((name) => pattern.test(name)).sort();

  const reward = take(["reward/mean"], { "reward/mean": "mean" });
  const spread = take(["reward/std"])[0];
  add({
    title: "Reward",
    note: "of training episodes",
    series: reward.map((series) => (spread === undefined ? series : withSpread(series, spread))),
  });
  const accuracies = evaluationSeries(record, "accuracy");
  add({ title: "Evaluation accuracy", note: "of held-out tasks", series: accuracies, share: true });
  if (accuracies.length === 0) {
    add({ title: "Evaluation reward", note: "of held-out tasks", series: evaluationSeries(record, "reward/mean") });
  }
  add({ title: "Loss", series: take(["loss/total"], { "loss/total": "total" }) });
  add({ title: "KL divergence", note: "from the reference", series: take(["kl/reference"]), fromZero: true });
  add({ title: "Entropy", note: "nats per token", series: take(named(/^entropy\//)), fromZero: true });
  add({ title: "Gradient norm", series: take(["optimizer/gradient-norm"]), fromZero: true });
  add({
    title: "Completion length",
    note: "tokens",
    series: take(["length/completion-mean"], { "length/completion-mean": "mean" }),
    fromZero: true,
  });
  add({
    title: "Tokens per second",
    series: take(["tokens/sampled-per-second", "tokens/trained-per-second"], {
      "tokens/sampled-per-second": "sampled",
      "tokens/trained-per-second": "trained",
    }),
    fromZero: true,
  });

  add({ title: "Reward by turn", note: "over the episodes that played it", series: take(...byTurn("reward")) });
  add({ title: "Level reached by turn", note: "from 0 to 4", series: take(...byTurn("level")), fromZero: true });

  const others = [...names].filter((name) => !used.has(name)).sort();
  const groups = Map.groupBy(others, (name) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : "other"));
  const other = [...groups].flatMap(([group, members]) =>
    chunks(members, seriesPerChart).map((chunk) => ({
      title: group,
      series: chunk.map((name) => stepSeries(record, name, name)),
      steps,
    })),
  );
  // Alone in its chart, a line says by the title what it is.
  return {
    main,
    other: other.map((chart) => (chart.series.length === 1 ? { ...chart, title: chart.series[0]!.name } : chart)),
  };
}

function stepSeries(record: RunRecord, metric: string, name: string): ChartSeries {
  const points = record.steps.flatMap(({ step, metrics }) => {
    const value = metrics[metric];
    return value === undefined ? [] : [[step, value] as const];
  });
  return { name, xs: points.map(([step]) => step), ys: points.map(([, value]) => value) };
}

/** The metrics of the first turns by a name, and what lines of a chart call them. */
function byTurn(name: string): [metrics: string[], labels: Record<string, string>] {
  const turns = Array.from({ length: seriesPerChart }, (_, i) => [`rollout/turn-${i + 1}/${name}`, `turn ${i + 1}`]);
  return [turns.map(([metric]) => metric!), Object.fromEntries(turns) as Record<string, string>];
}

function withSpread(mean: ChartSeries, deviation: ChartSeries): ChartSeries {
  const byStep = new Map(deviation.xs.map((x, i) => [x, deviation.ys[i]!]));
  return { ...mean, spread: { name: "± standard deviation", values: mean.xs.map((x) => byStep.get(x) ?? Number.NaN) } };
}

function evaluationSeries(record: RunRecord, metric: string): ChartSeries[] {
  return [...Map.groupBy(record.evaluations, ({ split }) => split)].flatMap(([split, evaluations]) => {
    const points = evaluations.filter(({ metrics }) => metrics[metric] !== undefined);
    if (points.length === 0) return [];
    return [
      {
        name: split,
        xs: points.map(({ step }) => step),
        ys: points.map(({ metrics }) => metrics[metric]!),
        dots: true,
      },
    ];
  });
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
