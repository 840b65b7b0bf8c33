import { formatNumber, formatPercent } from "../../core/text/format.ts";
import type { HealthCheck, HealthSettings } from "./health-settings.ts";
import type { EvaluatedScore, HealthState } from "./health-state.ts";
import type { WindowSummary } from "./metric-window.ts";

/** How a run stands by one check. */
export interface HealthReading {
  readonly check: HealthCheck;
  /** What it was found in, where a check looks at several things: a component, a split. */
  readonly subject?: string;
  /** At 1 and above the run is in trouble. */
  readonly level: number;
  /** What happened, and what it may mean. */
  readonly message: string;
}

/** Fewer tokens than these change with the task; answers shorter than these are often the same. */
const fewTokens = 16;
/** Where fewer groups than this share are left to be solved, there is little to learn. */
const fewGroups = 0.1;
/** A smaller change of a score, as a share of it, is not worth a warning, however certain it is. */
const materialChange = 0.05;

/** Every check that the state has enough metrics for. */
export function readHealth(state: HealthState, settings: HealthSettings): HealthReading[] {
  const now = (name: string): number | undefined => state.windows[name]?.now?.mean;
  const readings: HealthReading[] = [
    ...samplerKl(now, settings),
    ...entropy(state, settings),
    ...shares(now, settings),
    ...lengths(state, settings),
    ...componentFalls(state, settings),
    ...lossRise(state, settings),
    ...scoreFalls(state, settings),
  ];
  return readings.filter(({ check }) => !settings.ignore.includes(check));
}

type Means = (name: string) => number | undefined;

function samplerKl(now: Means, { samplerKl: most }: HealthSettings): HealthReading[] {
  // Before the first update of a batch the two policies should be one; kl/behaviour also holds what updates changed.
  const kl = now("kl/sampler") ?? now("kl/behaviour");
  if (kl === undefined) return [];
  const message =
    `The policy that samples and the one that is trained are ${formatNumber(kl)} nats per token apart ` +
    `(at most ${formatNumber(most)}): updates are computed on data that is not the policy's own. ` +
    "Take fewer updates per batch, a lower learning rate or fresher rollouts, or the same precision in both.";
  return [{ check: "sampler-kl", level: kl / most, message }];
}

function entropy({ windows }: HealthState, { entropyLow, entropyHigh }: HealthSettings): HealthReading[] {
  const window = windows["entropy/mean"] ?? windows["entropy/sampled"];
  if (window?.now === undefined || window.first === undefined) return [];
  const { now, first } = window;
  // Whoever has learnt the tasks is sure of the answers.
  const solved = windows["groups/solved"]?.now?.mean ?? 0;
  const low =
    `The entropy is down to ${formatNumber(now.mean)} nats per token (at least ${formatNumber(entropyLow)}): ` +
    "the policy says nearly the same whenever it is asked, and finds nothing new. " +
    "Raise the sampling temperature, add an entropy bonus or lower the learning rate; ignore it where all tasks are solved.";
  const high =
    `The entropy rose from ${formatNumber(first.mean)} to ${formatNumber(now.mean)} nats per token ` +
    `(at most ${formatNumber(entropyHigh)} times): the policy loses what it knew. Lower the learning rate, or ` +
    "hold it near its start (a KL term).";
  return [
    { check: "entropy-low", level: solved > 0.5 ? 0 : entropyLow / Math.max(now.mean, 1e-12), message: low },
    // From next to nothing any entropy is many times as much.
    { check: "entropy-high", level: now.mean / (entropyHigh * Math.max(first.mean, 0.1)), message: high },
  ];
}

function shares(now: Means, settings: HealthSettings): HealthReading[] {
  const readings: HealthReading[] = [];
  const add = (check: HealthCheck, share: number | undefined, most: number, message: string): void => {
    if (share !== undefined) readings.push({ check, level: share / most, message });
  };
  const solved = now("groups/solved") ?? 0;
  const without = now("groups/without-signal");
  const unsolved = 1 - solved;
  const silent = without === undefined || unsolved < fewGroups ? undefined : Math.max(0, without - solved) / unsolved;
  add(
    "without-signal",
    silent,
    settings.withoutSignal,
    `${formatPercent(silent ?? 0)} of the groups that are not solved are without a signal: all their episodes earn the ` +
      "same, and teach nothing. The tasks are too hard, or the policy has collapsed to one answer each: choose others, " +
      "larger groups or a lower learning rate. A model that never earns anything, such as one from scratch, first has to " +
      "learn from demonstrations (algorithm: sft).",
  );
  const cut = Math.max(now("length/cut-off") ?? 0, now("episodes/truncated") ?? 0);
  add(
    "truncation",
    cut,
    settings.truncation,
    `${formatPercent(cut)} of what the policy does is cut off by a limit, and is judged unfinished. ` +
      "Raise sampling.maxTokens or the rollout's limits, or reward shorter answers.",
  );
  const length = now("length/completion-mean") ?? 0;
  const duplicates = now("groups/duplicates");
  add(
    "duplicates",
    length < fewTokens || duplicates === undefined ? undefined : Math.max(0, duplicates - solved),
    settings.duplicates,
    `${formatPercent(duplicates ?? 0)} of the episodes say to the letter what another of their group says: ` +
      "there is nothing to compare. Raise the sampling temperature, or look whether the policy has collapsed to one answer.",
  );
  add(
    "unscored",
    now("episodes/unscored"),
    settings.unscored,
    `${formatPercent(now("episodes/unscored") ?? 0)} of the episodes could not be scored and were left out: ` +
      "if the hard tasks are among them, what is learnt is skewed. See to the judge or the sandbox.",
  );
  return readings;
}

function lengths({ windows }: HealthState, { lengthGrowth, lengthFall }: HealthSettings): HealthReading[] {
  const { first, now } = windows["length/completion-mean"] ?? {};
  if (first === undefined || now === undefined) return [];
  const [from, to] = [formatNumber(first.mean), formatNumber(now.mean)];
  const grown = now.mean > first.mean;
  const ratio = grown
    ? now.mean / Math.max(first.mean, 1e-9) / lengthGrowth
    : first.mean / Math.max(now.mean, 1e-9) / lengthFall;
  const message = grown
    ? `Completions grew from ${from} to ${to} tokens: see whether length itself is paid, by a judge that likes many words.`
    : `Completions shrank from ${from} to ${to} tokens: see whether the policy has stopped to think, or to answer.`;
  return [{ check: "length", level: Math.min(ratio, Math.abs(now.mean - first.mean) / fewTokens), message }];
}

function componentFalls({ windows }: HealthState, { componentFall, standardErrors }: HealthSettings): HealthReading[] {
  const spread = windows["reward/std"]?.now?.mean ?? 0;
  return Object.entries(windows).flatMap(([name, { best, now }]): HealthReading[] => {
    if (name !== "reward/mean" && !name.startsWith("reward/component/")) return [];
    if (best === undefined || now === undefined) return [];
    const fall = best.mean - now.mean;
    // The best of many windows is above the mean by chance: hence twice the standard errors.
    const certainty = inStandardErrors(fall, best, now) / (2 * standardErrors);
    const size = ratioOf(fall, Math.max(Math.abs(best.mean), spread)) / componentFall;
    const what = name === "reward/mean" ? "The reward" : `The reward's component "${name.slice(17)}"`;
    const message =
      `${what} fell from ${formatNumber(best.mean)} (its best, at step ${best.step}) to ${formatNumber(now.mean)}: ` +
      "it is given up for another, or the policy comes apart; where the tasks became harder, that may be all.";
    return [{ check: "component-fall", subject: name, level: Math.min(certainty, size), message }];
  });
}

/** The loss of demonstrations rises, which nothing but the optimizer explains. */
function lossRise({ windows }: HealthState, { lossRise: most, standardErrors }: HealthSettings): HealthReading[] {
  const { first, lowest, now } = windows["loss/total"] ?? {};
  if (first === undefined || lowest === undefined || now === undefined) return [];
  const rise = now.mean - lowest.mean;
  // The lowest of many windows is below the mean by chance: hence twice the standard errors.
  const certainty = inStandardErrors(rise, lowest, now) / (2 * standardErrors);
  // What is left of a loss once it is learned wavers by many times itself.
  const size = ratioOf(rise, Math.max(Math.abs(lowest.mean), Math.abs(first.mean) / 10)) / most;
  const message =
    `The loss rose from ${formatNumber(lowest.mean)} (its lowest, at step ${lowest.step}) to ${formatNumber(now.mean)}: ` +
    "the learning rate is likely too high. Lower training.learningRate, let it warm up (training.warmupSteps) or fall " +
    "(training.schedule), or take larger batches.";
  return [{ check: "loss-rise", level: Math.min(certainty, size), message }];
}

/**
 * Reads whether the held-out score falls. If the training reward rises at the same time, it is reward hacking, else a
 * fall of the evaluation.
 */
function scoreFalls(state: HealthState, settings: HealthSettings): HealthReading[] {
  const { hidden } = settings;
  const reward = state.windows["reward/mean"];
  const score = state.windows[hidden];
  const found: HealthReading[] = [];
  if (score?.best !== undefined && score.now !== undefined && hidden !== "reward/mean") {
    const fall = { best: score.best, now: score.now, name: hidden };
    found.push(...hackingReading({ ...fall, reward: [state.rewardAtBest ?? reward?.first, reward?.now] }, settings));
  }
  for (const [split, { best, last, rewardAtBest }] of Object.entries(state.evaluations)) {
    // Of two evaluations the better: one alone may be bad luck. After the best one that is the best itself.
    const now = last.reduce((a, b) => (b.mean > a.mean ? b : a));
    const fall = { best, now, name: `${hidden} of ${split}` };
    const hacking = hackingReading({ ...fall, reward: [rewardAtBest ?? reward?.first, reward?.now] }, settings);
    found.push(...hacking);
    if (hacking.every(({ level }) => level < 1)) found.push(evaluationFall(fall, settings));
  }
  return found;
}

function evaluationFall(
  {
    name,
    best,
    now,
  }: { readonly name: string; readonly best: EvaluatedScore["best"]; readonly now: EvaluatedScore["best"] },
  { standardErrors }: HealthSettings,
): HealthReading {
  const fall = best.mean - now.mean;
  const certainty = inStandardErrors(fall, best, now) / standardErrors;
  const level = Math.min(certainty, ratioOf(fall, Math.abs(best.mean)) / materialChange);
  const message =
    `${name} fell from ${formatNumber(best.mean)} (its best, at step ${best.step}) to ${formatNumber(now.mean)}: ` +
    "training makes the model worse at what it has not seen. Lower training.learningRate, stop sooner, or train on more " +
    "tasks; checkpoint.best with export.from: best keeps the best model.";
  return { check: "evaluation-fall", subject: name, level, message };
}

function hackingReading(
  options: {
    readonly name: string;
    readonly best: EvaluatedScore["best"];
    readonly now: EvaluatedScore["best"];
    readonly reward: readonly [then: WindowSummary | undefined, now: WindowSummary | undefined];
  },
  { standardErrors }: HealthSettings,
): HealthReading[] {
  const { name, best, now, reward } = options;
  const [then, later] = reward;
  if (then === undefined || later === undefined) return [];
  const fall = best.mean - now.mean;
  const rise = later.mean - then.mean;
  const level = Math.min(
    inStandardErrors(fall, best, now) / standardErrors,
    inStandardErrors(rise, then, later) / standardErrors,
    ratioOf(fall, Math.abs(best.mean)) / materialChange,
    ratioOf(rise, Math.abs(then.mean)) / materialChange,
  );
  const message =
    `Likely reward hacking: since step ${best.step} the training reward rose from ${formatNumber(then.mean)} to ` +
    `${formatNumber(later.mean)} while ${name} fell from ${formatNumber(best.mean)} to ${formatNumber(now.mean)}. ` +
    `Read samples for what is paid and should not be; the weights of about step ${best.step} are the ones to keep.`;
  return [{ check: "reward-hacking", subject: name, level, message }];
}

/** A difference in standard errors of it; infinite where there is a difference and no doubt. */
function inStandardErrors(difference: number, a: Measured, b: Measured): number {
  return ratioOf(difference, Math.hypot(a.standardError, b.standardError));
}

type Measured = { readonly standardError: number };

/** A quotient; what is not above 0 gives 0, and something over nothing is infinite. */
function ratioOf(part: number, whole: number): number {
  return part <= 0 ? 0 : part / whole;
}
