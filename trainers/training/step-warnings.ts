import type { Group } from "../../src/contract/episode.ts";
import { scoredRewards, unscoredWarning } from "../metrics/rollout-metrics.ts";
import type { TrainingRun } from "../run/training-run.ts";

/** A finished step: what was played, and its metrics. */
interface Step {
  readonly run: Pick<TrainingRun, "algorithm" | "environment" | "fromScratch" | "progress" | "warnings">;
  readonly groups: readonly Group[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** The checks of a step, in the order of their warnings. Each returns what it warns of, or nothing. */
const checks: readonly ((step: Step) => string | readonly string[] | undefined)[] = [
  overlong,
  ({ run, groups }) => [...run.warnings.of(groups.flatMap(({ episodes }) => episodes))],
  worthlessDemonstrations,
  ({ run, groups }) => unscoredWarning(groups, run.algorithm),
  noSignal,
];

/** Returns the warnings of a step that has just finished. Marks those as shown that are shown once. */
export function stepWarnings(run: Step["run"], step: Omit<Step, "run">): string[] {
  return checks.flatMap((check) => check({ run, ...step }) ?? []);
}

/** Returns a warning if something was too long for a model and was cut or dropped. */
function overlong({ run, metrics }: Step): string | undefined {
  const found = overlongTexts.filter(([name]) => (metrics[name] ?? 0) > 0);
  if (found.length === 0 || run.progress.warnedOverlong) return undefined;
  run.progress.warnedOverlong = true;
  const counted = found.map(([name, what]) => `${what}: ${metrics[name]} in this step (${name}).`);
  return [...counted, "This warning is shown once; the metric counts each step."].join(" ");
}

const overlongTexts = [
  ["data/truncated", "Episodes too long for the model lost their beginning (data.overlong: truncate)"],
  [
    "data/dropped",
    "Episodes too long for the model were left out (data.overlong: drop, or nothing was left to learn after the cut)",
  ],
  ["critic/truncated", "Inputs too long for the team's critic lost the beginning of each agent's part"],
] as const;

/**
 * Returns a warning if all demonstrations of the first step have the lowest reward of an environment that rewards
 * correct answers.
 */
function worthlessDemonstrations({ run, groups }: Step): string | undefined {
  const { algorithm, environment, progress } = run;
  const [low, high] = environment.spec.rewardRange;
  if (progress.step > 1 || algorithm.rollout.actor !== "demonstration" || low < 0 || high <= low) return undefined;
  const rewards = groups
    .flatMap(({ episodes }) => episodes.flatMap(({ agents }) => Object.values(agents)))
    .map(({ reward }) => reward);
  if (rewards.length === 0 || !rewards.every((reward) => reward.status === "scored" && reward.value <= low))
    return undefined;
  return (
    `None of the ${rewards.length} demonstrations of this step earns more than ${low}. The model learns answers that its ` +
    "environment scores as wrong. lyceum check shows the reward of a demonstration and its failed calls."
  );
}

/** Returns a warning if no group had anything to learn, unless most tasks are solved. */
function noSignal({ run, groups, metrics }: Step): string | undefined {
  if (metrics["optimizer/steps"] !== 0 || (metrics["groups/solved"] ?? 0) >= 0.5) return undefined;
  const isUnlucky =
    run.fromScratch &&
    run.algorithm.rollout.actor === "policy" &&
    groups.some(({ episodes }) => scoredRewards(episodes).length > 0);
  const first = isUnlucky
    ? " A model from scratch rarely finds the reward by chance. Let it learn from demonstrations first, for example in a stage with algorithm: sft."
    : "";
  return `None of the ${groups.length} groups has a signal: the weights did not change.${first}`;
}
