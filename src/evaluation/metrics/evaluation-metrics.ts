import { definesCorrect } from "../correctness.ts";
import type { EpisodeEntry } from "../log/episode-entry.ts";
import type { EvaluationManifest } from "../log/manifest.ts";
import type { Metric } from "../log/summary.ts";
import { meanInterval } from "./confidence-interval.ts";
import { agentOfModel, matchScore } from "./match-score.ts";
import { estimatePassAtK, estimatePassHatK } from "./pass-at-k.ts";
import { episodeReward, mean, type TaskResult } from "./task-results.ts";

/** The part of a manifest that determines the metrics. */
export type MeasuredRun = Pick<EvaluationManifest, "k" | "spec" | "correct"> & {
  readonly identity: Pick<EvaluationManifest["identity"], "models" | "rotated">;
};

/**
 * Returns the metrics of tasks by name, the most informative first. All tasks have the same weight, also
 * if their numbers of episodes differ. Tasks without a score are excluded.
 */
export function evaluationMetrics(
  results: readonly TaskResult[],
  { k: ks, spec, identity: { models, rotated = false }, correct }: MeasuredRun,
): Record<string, Metric> {
  const { agents } = spec;
  const isDefined = definesCorrect(correct, spec);
  const metrics: [name: string, metric: Metric | undefined][] = [];
  const shares: typeof metrics = [];
  if (correct !== undefined) {
    shares.push(["accuracy", shareMetric(results, 1, ({ samples, correct }) => correct / samples)]);
    for (const k of ks) {
      shares.push([`pass@${k}`, shareMetric(results, k, (counts) => estimatePassAtK({ ...counts, k }))]);
    }
    for (const k of ks.filter((count) => count > 1)) {
      shares.push([`pass^${k}`, shareMetric(results, k, (counts) => estimatePassHatK({ ...counts, k }))]);
    }
  }
  if (isDefined) metrics.push(...shares);
  const players = [...new Set(Object.values(models))];
  if (agents.length === 2 && players.length === 2) {
    metrics.push(["win-rate", meanMetric(results, (entry) => matchScore(entry, { agents, rotated }))]);
  }
  metrics.push(["reward", meanMetric(results, (entry) => episodeReward(entry))]);
  for (const agent of agents.length > 1 ? agents : []) {
    const name = rotated ? models[agent] : agent;
    const rewardOf = (entry: EpisodeEntry): number | undefined =>
      entry.agents[rotated ? agentOfModel(agent, { agents, sampleIndex: entry.sampleIndex }) : agent]?.reward ??
      undefined;
    metrics.push([`reward/${name}`, meanMetric(results, rewardOf)]);
  }
  if (!isDefined) metrics.push(...shares);
  for (const name of componentNames(results)) {
    metrics.push([`component/${name}`, meanMetric(results, (entry) => component(entry, name))]);
  }
  return Object.fromEntries(metrics.filter(([, metric]) => metric !== undefined)) as Record<string, Metric>;
}

/**
 * The mean of a share that is estimated from each task's correct samples. Excludes tasks with fewer than `least`
 * samples.
 */
function shareMetric(
  results: readonly TaskResult[],
  least: number,
  estimate: (counts: { readonly samples: number; readonly correct: number }) => number,
): Metric | undefined {
  const estimates = (samplesOf: (result: TaskResult) => number): number[] =>
    results.flatMap((result) => {
      const samples = samplesOf(result);
      return samples < least ? [] : [estimate({ samples, correct: result.correct })];
    });
  const overAll = mean(estimates(({ played }) => played.length));
  const metric = metricOf(estimates(({ scored }) => scored.length));
  return metric === undefined || overAll === undefined ? undefined : { ...metric, overAll };
}

/** The mean over tasks of the mean over their scored episodes. */
function meanMetric(
  results: readonly TaskResult[],
  scoreOf: (entry: EpisodeEntry) => number | undefined,
): Metric | undefined {
  return metricOf(results.flatMap(({ scored }) => mean(scored.flatMap((entry) => scoreOf(entry) ?? [])) ?? []));
}

function metricOf(values: readonly number[]): Metric | undefined {
  const value = mean(values);
  if (value === undefined) return undefined;
  const interval = meanInterval(values);
  return { value, interval, tasks: values.length };
}

function componentNames(results: readonly TaskResult[]): string[] {
  const names = new Set<string>();
  for (const { scored } of results) {
    for (const { agents } of scored) {
      for (const { components = {} } of Object.values(agents))
        for (const name of Object.keys(components)) names.add(name);
    }
  }
  // If the reward is the only component, it would only repeat the metric `reward`.
  return names.size === 1 && names.has("reward") ? [] : [...names].sort();
}

/** The mean over the agents that have the component. */
function component({ agents }: EpisodeEntry, name: string): number | undefined {
  return mean(Object.values(agents).flatMap(({ components }) => components?.[name] ?? []));
}
