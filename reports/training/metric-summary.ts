import { formatCount, formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";

/** A metric for people: a short label and its value as text. */
export interface MetricSummary {
  readonly label: string;
  readonly value: string;
}

type Metrics = Readonly<Record<string, number>>;

/** The maximum number of components or agents in a summary. */
const countedRewards = 6;

/**
 * Returns the rewards: the mean with its standard deviation, the mean of each agent, each component, and the win rate
 * of each agent.
 */
export function rewardSummary(metrics: Metrics): MetricSummary[] {
  const { "reward/mean": mean, "reward/std": deviation } = metrics;
  const parts = (pattern: RegExp): [label: string, value: number][] =>
    Object.entries(metrics).flatMap(([name, value]) => {
      const label = pattern.exec(name)?.[1];
      return label === undefined ? [] : [[label, value] as [string, number]];
    });
  const agents = parts(/^agents\/([^/]+)\/reward$/).concat(parts(/^reward\/((?!mean$|std$)[^/]+)$/));
  const components = parts(/^reward\/component\/(.+)$/);
  // A single component equals the reward.
  const shown = [...agents, ...(components.length > 1 ? components : [])].slice(0, countedRewards);
  const spread = deviation === undefined ? "" : ` ±${formatNumber(deviation)}`;
  return [
    ...(mean === undefined ? [] : [{ label: "reward", value: `${formatNumber(mean)}${spread}` }]),
    ...shown.map(([label, value]) => ({ label, value: formatNumber(value) })),
    ...parts(/^agents\/([^/]+)\/win-rate$/).map(([label, value]) => ({
      label: `${label} wins`,
      value: formatPercent(value),
    })),
  ];
}

/** Returns the important metrics of a step in the order of importance. Absent metrics are left out. */
export function stepSummary(metrics: Metrics): MetricSummary[] {
  return [...rewardSummary(metrics), ...updateSummary(metrics)];
}

/** Returns the metrics of the update, of the completion lengths, and of failures. */
export function updateSummary(metrics: Metrics): MetricSummary[] {
  const summaries: MetricSummary[] = [];
  const add = (label: string, name: string, format: (value: number) => string = formatNumber): void => {
    const value = metrics[name];
    if (value !== undefined) summaries.push({ label, value: format(value) });
  };
  add("loss", "loss/total");
  add("kl", "kl/reference");
  add("entropy", "entropy/sampled");
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

/** Returns the important metrics of an evaluation, the reward first. */
export function evaluationSummary(metrics: Metrics): MetricSummary[] {
  const summaries: MetricSummary[] = [];
  const { accuracy } = metrics;
  const episodes = metrics["episodes/count"];
  const unscored = metrics["episodes/unscored"] ?? 0;
  summaries.push(...rewardSummary(ofAgents(metrics)));
  if (accuracy !== undefined) summaries.push({ label: "accuracy", value: formatPercent(accuracy) });
  if (episodes !== undefined) summaries.push({ label: "episodes", value: formatCount(episodes) });
  if (unscored > 0) summaries.push({ label: "unscored", value: formatPercent(unscored) });
  return summaries;
}

/** Returns the mean reward and the metrics of agents. */
function ofAgents(metrics: Metrics): Metrics {
  return Object.fromEntries(
    Object.entries(metrics).filter(([name]) => name === "reward/mean" || name.startsWith("agents/")),
  );
}
