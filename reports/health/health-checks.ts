import { formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";
import type { HealthCheck, HealthSettings } from "./health-settings.ts";
import type { EvaluatedScore, HealthState } from "./health-state.ts";
import type { WindowSummary } from "./metric-window.ts";

/** The result of one check. */
export interface HealthReading {
  readonly check: HealthCheck;
  /** The component or split that the check looked at, if it looks at several. */
  readonly subject?: string;
  /** 1 or more means that the run is in trouble. */
  readonly level: number;
  /** What happened, and its possible causes. */
  readonly message: string;
}

/** Fewer tokens than these vary with the task, and answers shorter than these are often equal. */
const fewTokens = 16;
/** If a smaller share of the groups is unsolved, there is little left to learn. */
const fewGroups = 0.1;
/** A smaller relative change of a score is not worth a warning, even if it is significant. */
const materialChange = 0.05;
/** A component of the reward is given up if less than this share of its best is left. */
const nearlyGone = 0.1;
/** How clear its fall must be, in `standardErrors`. */
const givenUpErrors = 1.6;

/** Runs every check whose metrics are available. */
export function readHealth(state: HealthState, settings: HealthSettings): HealthReading[] {
  const now = (name: string): number | undefined => state.windows[name]?.now?.mean;
  const readings: HealthReading[] = [
    ...samplerKl(now, settings),
    ...entropy(state, settings),
    ...shares(now, settings),
    ...unusedTools(now, settings),
    ...lengths(state, settings),
    ...componentFalls(state, settings),
    ...lossRise(state, settings),
    ...scoreFalls(state, settings),
  ];
  return readings.filter(({ check }) => !settings.ignore.includes(check));
}

type Means = (name: string) => number | undefined;

function samplerKl(now: Means, { samplerKl: most }: HealthSettings): HealthReading[] {
  // Before the first update of a batch both policies should be equal. kl/behaviour also contains the effect of updates.
  const kl = now("kl/sampler") ?? now("kl/behaviour");
  if (kl === undefined) return [];
  const message =
    `The KL divergence between the sampling policy and the trained policy is ${formatNumber(kl)} nats per token ` +
    `(at most ${formatNumber(most)}): updates use off-policy data. ` +
    "Use fewer updates per batch, a lower learning rate, fresher rollouts, or the same precision for both.";
  return [{ check: "sampler-kl", level: kl / most, message }];
}

function entropy({ windows }: HealthState, { entropyLow, entropyHigh }: HealthSettings): HealthReading[] {
  const window = windows["entropy/sampled"];
  if (window?.now === undefined || window.first === undefined) return [];
  const { now, first } = window;
  // A policy that has learned the tasks has a low entropy. That is not a problem.
  const solved = windows["groups/solved"]?.now?.mean ?? 0;
  const low =
    `The entropy fell to ${formatNumber(now.mean)} nats per token (at least ${formatNumber(entropyLow)}): ` +
    "the policy gives nearly the same answer every time and no longer explores. " +
    "Raise the sampling temperature, add an entropy bonus or lower the learning rate. Ignore this if all tasks are solved.";
  const high =
    `The entropy rose from ${formatNumber(first.mean)} to ${formatNumber(now.mean)} nats per token ` +
    `(at most ${formatNumber(entropyHigh)} times): the policy may be forgetting what it learned. Lower the learning rate, or ` +
    "add a KL penalty.";
  return [
    { check: "entropy-low", level: solved > 0.5 ? 0 : entropyLow / Math.max(now.mean, 1e-12), message: low },
    // Any entropy is many times as large as one near 0. The floor of 0.1 prevents that.
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
    `${formatPercent(silent ?? 0)} of the unsolved groups have no signal: all their episodes have the ` +
      "same reward, so they have no gradient. The tasks are too hard, or the policy has collapsed to one answer: use easier tasks, " +
      "larger groups or a lower learning rate. A model whose reward is always the lowest, such as an untrained one, must first " +
      "learn from demonstrations (algorithm: sft).",
  );
  const cut = Math.max(now("length/cut-off") ?? 0, now("episodes/truncated") ?? 0);
  add(
    "truncation",
    cut,
    settings.truncation,
    `${formatPercent(cut)} of the completions or episodes are cut off by a limit and scored unfinished. ` +
      "Raise sampling.maxTokens or the rollout's limits, or reward shorter answers.",
  );
  const length = now("length/completion-mean") ?? 0;
  const duplicates = now("groups/duplicates");
  add(
    "duplicates",
    length < fewTokens || duplicates === undefined ? undefined : Math.max(0, duplicates - solved),
    settings.duplicates,
    `${formatPercent(duplicates ?? 0)} of the episodes repeat another episode of their group exactly: ` +
      "there is nothing to compare. Raise the sampling temperature, or check whether the policy has collapsed to one answer.",
  );
  const malformed = now("tools/malformed");
  add(
    "malformed-calls",
    malformed,
    settings.malformedCalls,
    `${formatPercent(malformed ?? 0)} of the tool calls cannot be parsed and are answered by an error. ` +
      "Let the model first learn the format from demonstrations (algorithm: sft), use the tool format of its chat template " +
      "(protocol: native), or raise sampling.maxTokens if calls are cut off.",
  );
  add(
    "unscored",
    now("episodes/unscored"),
    settings.unscored,
    `${formatPercent(now("episodes/unscored") ?? 0)} of the episodes could not be scored and were left out: ` +
      "if these are mostly hard tasks, training is biased. Check the judge or the sandbox.",
  );
  return readings;
}

function unusedTools(now: Means, { toolCalls }: HealthSettings): HealthReading[] {
  const calls = now("tools/calls-mean");
  if (calls === undefined) return [];
  const message =
    `The model may call tools, but makes ${formatNumber(calls)} calls per episode (at least ${formatNumber(toolCalls)}): it ` +
    "answers without them. Show it calls in demonstrations (algorithm: sft), and check that a right answer without a call " +
    "earns less. Ignore this if the tasks need no tool.";
  const solved = now("groups/solved") ?? 0;
  return [{ check: "unused-tools", level: solved > 0.5 ? 0 : toolCalls / Math.max(calls, 1e-12), message }];
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
    ? `Completions grew from ${from} to ${to} tokens${rewardAlong(windows)}: check whether the reward favours long answers, for example through a judge.`
    : `Completions shrank from ${from} to ${to} tokens: check whether the policy no longer reasons or answers.`;
  return [{ check: "length", level: Math.min(ratio, Math.abs(now.mean - first.mean) / fewTokens), message }];
}

/** Says so if the reward did not rise while something else did. */
function rewardAlong({ "reward/mean": reward }: HealthState["windows"]): string {
  const { first, now } = reward ?? {};
  if (first === undefined || now === undefined) return "";
  return inStandardErrors(now.mean - first.mean, first, now) < 2 ? ", and the reward did not rise" : "";
}

function componentFalls({ windows }: HealthState, { componentFall, standardErrors }: HealthSettings): HealthReading[] {
  const spread = windows["reward/std"]?.now?.mean ?? 0;
  return Object.entries(windows).flatMap(([name, { best, now }]): HealthReading[] => {
    if (name !== "reward/mean" && !name.startsWith("reward/component/")) return [];
    if (best === undefined || now === undefined) return [];
    const fall = best.mean - now.mean;
    // The best of many windows is above the mean by chance. Therefore the test uses twice the standard errors.
    const certainty = inStandardErrors(fall, best, now) / (2 * standardErrors);
    const size = ratioOf(fall, Math.max(Math.abs(best.mean), spread)) / componentFall;
    // The fall of a small component is never large next to the spread of the rewards.
    const left = nearlyGone * ratioOf(best.mean, Math.max(now.mean, 1e-12));
    // An early window has few differences, and may underestimate the noise.
    const noise = { standardError: Math.max(best.standardError, now.standardError) };
    const sure = inStandardErrors(fall, noise, now) / (givenUpErrors * standardErrors);
    const givenUp = name === "reward/mean" ? 0 : Math.min(left, sure);
    const what = name === "reward/mean" ? "The reward" : `The reward's component "${name.slice(17)}"`;
    const message =
      `${what} fell from ${formatNumber(best.mean)} (its best, at step ${best.step}) to ${formatNumber(now.mean)}: ` +
      "the policy trades it for another component, or it degrades. It may also fall because the tasks became harder.";
    const level = Math.max(givenUp, Math.min(certainty, size));
    return [{ check: "component-fall", subject: name, level, message }];
  });
}

/** Checks whether the loss on demonstrations rises. Only the optimizer can cause that. */
function lossRise({ windows }: HealthState, { lossRise: most, standardErrors }: HealthSettings): HealthReading[] {
  const { first, lowest, now } = windows["loss/total"] ?? {};
  if (first === undefined || lowest === undefined || now === undefined) return [];
  const rise = now.mean - lowest.mean;
  // The lowest of many windows is below the mean by chance. Therefore the test uses twice the standard errors.
  const certainty = inStandardErrors(rise, lowest, now) / (2 * standardErrors);
  // A learned loss is near 0 and fluctuates by many times its value. A tenth of the first loss is the smallest scale.
  const size = ratioOf(rise, Math.max(Math.abs(lowest.mean), Math.abs(first.mean) / 10)) / most;
  const message =
    `The loss rose from ${formatNumber(lowest.mean)} (its lowest, at step ${lowest.step}) to ${formatNumber(now.mean)}: ` +
    "the learning rate is likely too high. Lower training.learningRate, use a warmup (training.warmupSteps) or a decay " +
    "(training.schedule), or use larger batches.";
  return [{ check: "loss-rise", level: Math.min(certainty, size), message }];
}

/**
 * Checks whether the held-out score falls. This is reward hacking if the training reward rises at the same time.
 * Otherwise it is a fall of the evaluation.
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
    // Uses the better of the last two evaluations, because one alone may be low by chance. Right after the best
    // evaluation, that is the best itself.
    const now = last.reduce((a, b) => (b.mean > a.mean ? b : a));
    const fall = { best, now, name: `${hidden} of ${split}` };
    const hacking = hackingReading({ ...fall, reward: [rewardAtBest ?? reward?.first, reward?.now] }, settings);
    found.push(...hacking);
    if (hacking.some(({ level }) => level >= 1)) continue;
    found.push(evaluationFall(fall, settings));
    found.push(...evaluationFlat(state, split, settings));
  }
  return found;
}

/**
 * Checks whether the training reward rises without the held-out score. The reward must also have become higher than the
 * score: a reward that only comes closer to it is that of samples which become as good as the greedy answers.
 */
function evaluationFlat(state: HealthState, split: string, settings: HealthSettings): HealthReading[] {
  const { hidden, standardErrors } = settings;
  const then = state.windows["reward/mean"]?.first;
  // A later reward says nothing about a score that is older.
  const { first, best, count, rewardAtLast: now } = state.evaluations[split]!;
  // Other scores than the reward have other units. Two evaluations may be equal by chance.
  if (then === undefined || now === undefined || hidden !== "evaluation/reward/mean" || count < 3) return [];
  const rise = now.mean - then.mean;
  const gain = best.mean - first.mean;
  const uncertain = { standardError: Math.hypot(then.standardError, now.standardError) / 2 };
  const level = Math.min(
    inStandardErrors(rise, then, now) / standardErrors,
    ratioOf(rise, Math.abs(then.mean)) / materialChange,
    inStandardErrors(now.mean - best.mean, now, best) / standardErrors,
    // Certainly less than half of the rise.
    inStandardErrors(rise / 2 - gain, uncertain, {
      standardError: Math.hypot(first.standardError, best.standardError),
    }) / standardErrors,
  );
  const message =
    `The training reward rose from ${formatNumber(then.mean)} to ${formatNumber(now.mean)}, but ${hidden} of ${split} went ` +
    `from ${formatNumber(first.mean)} to ${formatNumber(best.mean)} at best: the policy learns the training tasks, or what ` +
    "only they reward. Train on more tasks (tasks.split) or for fewer epochs, and compare samples of both splits.";
  return [{ check: "evaluation-flat", subject: `${hidden} of ${split}`, level, message }];
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
    "training makes the model worse on held-out tasks. Lower training.learningRate, stop earlier, or train on more " +
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
    `Read samples to find what the reward wrongly favours. Keep the weights of about step ${best.step}.`;
  return [{ check: "reward-hacking", subject: name, level, message }];
}

/** Returns a difference in units of its standard error. Infinite for a difference without any uncertainty. */
function inStandardErrors(difference: number, a: Measured, b: Measured): number {
  return ratioOf(difference, Math.hypot(a.standardError, b.standardError));
}

type Measured = { readonly standardError: number };

/** Returns a quotient, or 0 if `part` is not positive. Infinite if `whole` is 0. */
function ratioOf(part: number, whole: number): number {
  return part <= 0 ? 0 : part / whole;
}
