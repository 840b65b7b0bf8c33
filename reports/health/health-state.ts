import type { StepEvent, TrainingEvaluationEvent } from "../../src/contract/training-event.ts";
import type { HealthSettings } from "./health-settings.ts";
import { addToWindow, emptyWindow, type MetricWindow, type WindowSummary } from "./metric-window.ts";

/** The state of the checks. Its size does not grow with the number of steps. */
export interface HealthState {
  /** The windows by metric name. */
  readonly windows: Readonly<Record<string, MetricWindow>>;
  /** The held-out score by split, for evaluations that contain it. */
  readonly evaluations: Readonly<Record<string, EvaluatedScore>>;
  /** The training reward at the time when the held-out score, as a metric of steps, was at its best. */
  readonly rewardAtBest?: WindowSummary;
  /** Problems that were reported and have not cleared. */
  readonly troubles: readonly string[];
}

/** The held-out score in the evaluations of a split. */
export interface EvaluatedScore {
  readonly first: Score;
  /** The number of evaluations. */
  readonly count: number;
  readonly best: Score;
  /** The training reward at that time. Absent if it was not known yet. */
  readonly rewardAtBest?: WindowSummary;
  /** The last two scores. */
  readonly last: readonly Score[];
  /** The training reward at the last one. Absent if it was not known yet. */
  readonly rewardAtLast?: WindowSummary | undefined;
}

/** The score of one evaluation. */
export interface Score {
  readonly step: number;
  readonly mean: number;
  readonly standardError: number;
}

/** The state before the first step. */
export const initialHealthState: HealthState = { windows: {}, evaluations: {}, troubles: [] };

/** Returns the state after a step. Values that are not finite are ignored. */
export function rememberStep(state: HealthState, event: StepEvent, { window, hidden }: HealthSettings): HealthState {
  const windows: Record<string, MetricWindow> = { ...state.windows };
  for (const [name, value] of Object.entries(event.metrics)) {
    if (!isWatched(name, hidden)) continue;
    // The length of demonstrations is given. Only the length of sampled completions can drift.
    const isDemonstrated = event.metrics["tokens/sampled"] === undefined;
    if (name.startsWith("length/") && isDemonstrated) continue;
    // The loss of a policy that learns from its own samples need not fall.
    if (name === "loss/total" && !isDemonstrated) continue;
    // Caps the divergence, so that its mean is finite.
    const counted = name.startsWith("kl/") ? Math.min(value, 1e6) : value;
    if (!Number.isFinite(counted)) continue;
    windows[name] = addToWindow(windows[name] ?? emptyWindow, { step: event.step, value: counted, width: window });
  }
  const best = windows[hidden]?.best;
  const isNewBest = best !== undefined && best.step === event.step;
  const reward = windows["reward/mean"]?.now;
  return { ...state, windows, ...(isNewBest && reward !== undefined ? { rewardAtBest: reward } : {}) };
}

/** Returns the state after an evaluation. */
export function rememberEvaluation(
  state: HealthState,
  { step, split, metrics }: TrainingEvaluationEvent,
  { hidden }: HealthSettings,
): HealthState {
  const name = hidden.replace(/^evaluation\//, "");
  const mean = metrics[name];
  if (name === hidden || mean === undefined || !Number.isFinite(mean)) return state;
  const score: Score = { step, mean, standardError: standardErrorOf(name, metrics) };
  const before = state.evaluations[split];
  const reward = state.windows["reward/mean"]?.now;
  const since =
    before === undefined || mean > before.best.mean
      ? { best: score, last: [score], rewardAtBest: reward }
      : { ...before, last: [...before.last, score].slice(-2) };
  const count = (before?.count ?? 0) + 1;
  const after: EvaluatedScore = { ...since, first: before?.first ?? score, count, rewardAtLast: reward };
  return { ...state, evaluations: { ...state.evaluations, [split]: after } };
}

const watched = new Set([
  "reward/mean",
  "reward/std",
  "loss/total",
  "kl/sampler",
  "kl/behaviour",
  "entropy/sampled",
  "groups/without-signal",
  "groups/solved",
  "groups/duplicates",
  "episodes/unscored",
  "episodes/truncated",
  "length/cut-off",
  "tools/calls-mean",
  "tools/malformed",
  "length/completion-mean",
]);

function isWatched(name: string, hidden: string): boolean {
  return watched.has(name) || name === hidden || name.startsWith("reward/component/");
}

/** Returns the standard error of a mean over episodes. 0 if the evaluation does not report it. */
function standardErrorOf(name: string, metrics: Readonly<Record<string, number>>): number {
  const { accuracy = 0, "reward/std": deviation = 0, "episodes/count": count = 0 } = metrics;
  const scored = count * (1 - (metrics["episodes/unscored"] ?? 0));
  if (scored < 1) return 0;
  if (name === "reward/mean") return deviation / Math.sqrt(scored);
  return name === "accuracy" ? Math.sqrt((accuracy * (1 - accuracy)) / count) : 0;
}
