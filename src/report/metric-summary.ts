import { formatCount, formatNumber, formatPercent } from "./format.ts";

/** A metric as people read it: a short label and its value in words. */
export interface MetricSummary {
  readonly label: string;
  readonly value: string;
}

type Metrics = Readonly<Record<string, number>>;

/** The metrics of a step worth a line, in the order in which they matter. Absent metrics are left out. */
export function stepSummary(metrics: Metrics): MetricSummary[] {
  const summaries: MetricSummary[] = [];
  const add = (label: string, name: string, format: (value: number) => string = formatNumber): void => {
    const value = metrics[name];
    if (value !== undefined) summaries.push({ label, value: format(value) });
  };
  const deviation = metrics["reward/std"];
  add("reward", "reward/mean", (mean) =>
    deviation === undefined ? formatNumber(mean) : `${formatNumber(mean)} ±${formatNumber(deviation)}`,
  );
  add("loss", "loss/total");
  add("kl", "kl/reference");
  add("entropy", metrics["entropy/mean"] === undefined ? "entropy/sampled" : "entropy/mean");
  add("grad", "optimizer/gradient-norm");
  add("lr", "optimizer/learning-rate");
  add("length", "length/completion-mean");
  const speed = metrics["tokens/sampled-per-second"] ?? metrics["tokens/trained-per-second"];
  if (speed !== undefined) summaries.push({ label: "tokens/s", value: formatCount(speed) });
  const positive = (label: string, name: string): void => {
    if ((metrics[name] ?? 0) > 0) add(label, name, formatPercent);
  };
  positive("groups without signal", "groups/without-signal");
  positive("cut off", "length/cut-off");
  positive("failed", "episodes/failed");
  positive("unscored", "episodes/unscored");
  return summaries;
}

/** The metrics of an evaluation worth a line. */
export function evaluationSummary(metrics: Metrics): MetricSummary[] {
  const summaries: MetricSummary[] = [];
  const { accuracy } = metrics;
  const episodes = metrics["episodes/count"];
  const reward = metrics["reward/mean"];
  const unscored = metrics["episodes/unscored"] ?? 0;
  if (accuracy !== undefined) summaries.push({ label: "accuracy", value: formatPercent(accuracy) });
  if (reward !== undefined) summaries.push({ label: "reward", value: formatNumber(reward) });
  if (episodes !== undefined) summaries.push({ label: "episodes", value: formatCount(episodes) });
  if (unscored > 0) summaries.push({ label: "unscored", value: formatPercent(unscored) });
  return summaries;
}
