import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { ProbeEvent } from "../../src/contract/training-event.ts";
import { formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";
import type { Algorithm } from "../algorithms/index.ts";
import type { TrainingConfig } from "../config/training-config.ts";

/** The share of groups with a signal from which the signal is frequent enough. */
const enoughGroups = 0.5;
/**
 * The share of episodes with another reward than the most frequent one from which the rewards of a batch differ enough.
 */
const enoughEpisodes = 0.1;
/** The share of cut-off completions from which it is worth advice. */
const manyCutOff = 0.25;
/** The share of duplicate episodes from which it is worth advice. */
const manyIdentical = 0.5;
/** The share of episodes with the lowest reward from which the model counts as a beginner. */
const mostlyLowest = 0.75;

/**
 * Returns what to change so that more groups have a signal, the likeliest cause first. Returns nothing if enough groups
 * have one.
 */
export function probeAdvice(
  run: { readonly config: TrainingConfig; readonly algorithm: Algorithm } & Demonstrated,
  found: Pick<ProbeEvent, "groups" | "withSignal" | "comparison" | "metrics"> & {
    /** The rewards of all trained agents in all scored episodes. */
    readonly rewards: readonly number[];
  },
): string[] {
  const { config, environment } = run;
  const { metrics, rewards } = found;
  if (rewards.length === 0 || hasEnough(found)) return [];
  const [least, most] = [Math.min(...rewards), Math.max(...rewards)];
  const [, top] = environment.spec.rewardRange;
  if (least >= top - 1e-9) {
    return [
      `harder tasks. Every episode earns ${formatNumber(most)}, the highest reward: there is nothing left to learn.`,
    ];
  }
  const lowest = rewards.filter((reward) => reward === least).length / rewards.length;
  // The output of a model from scratch is noise. Its length and its duplicates mean nothing.
  if (config.model.scratch !== undefined && lowest >= mostlyLowest) return [scratchAdvice(run, { lowest, least })];
  const advice: string[] = [];
  const cutOff = metrics["length/cut-off"] ?? 0;
  if (cutOff >= manyCutOff) {
    advice.push(
      `a higher sampling.maxTokens, now ${config.sampling.maxTokens}. ${formatPercent(cutOff)} of the completions ` +
        "are cut off there and scored unfinished. Or ask for shorter answers.",
    );
  }
  if (lowest >= mostlyLowest) advice.push(...beginnerAdvice(run, { lowest, least }));
  const identical = metrics["groups/duplicates"] ?? 0;
  if (identical >= manyIdentical) {
    advice.push(
      `a higher sampling.temperature, now ${formatNumber(config.sampling.temperature)}. ${formatPercent(identical)} ` +
        "of the episodes are equal to another of their group.",
    );
  }
  if (found.comparison === "group" && lowest < mostlyLowest) {
    advice.push(
      `larger groups (algorithm.groupSize, now ${run.algorithm.rollout.groupSize}). Rewards differ between tasks, ` +
        "but hardly within a task.",
    );
  }
  return advice;
}

/** The environment, whose demonstrations a model can learn from first. */
interface Demonstrated {
  readonly environment: EnvironmentDefinition;
}

function hasEnough({
  groups,
  withSignal,
  comparison,
  rewards,
}: Pick<ProbeEvent, "groups" | "withSignal" | "comparison"> & { readonly rewards: readonly number[] }): boolean {
  if (comparison === "group") return withSignal >= enoughGroups * groups;
  const counts = [...Map.groupBy(rewards, (reward) => reward).values()].map(({ length }) => length);
  return 1 - Math.max(...counts) / rewards.length >= enoughEpisodes;
}

/** The share of the lowest reward, and its value. */
interface Lowest {
  readonly lowest: number;
  readonly least: number;
}

const sftFirst =
  "SFT first: put a stage with algorithm sft before this one, or give it more steps if there is one. It learns from the " +
  "environment's demonstrations.";

function scratchAdvice({ environment }: Demonstrated, lowest: Lowest): string {
  const why = `${earned(lowest)}, and a model from scratch rarely finds the reward by chance.`;
  if (environment.demonstrate !== undefined) return `${sftFirst} ${why}`;
  return (
    "SFT first, on demonstrations: give the environment a demonstrate function. Or start from a trained model " +
    `(model.path). ${why}`
  );
}

/** Returns advice for a trained model that almost always has the lowest reward. */
function beginnerAdvice({ environment }: Demonstrated, lowest: Lowest): string[] {
  return [
    ...(environment.demonstrate === undefined ? [] : [sftFirst]),
    `an easier level of the environment, by its options or tasks.curriculum. ${earned(lowest)}.`,
    "a reward for the format too, so that a wrong answer in the right format earns something.",
  ];
}

function earned({ lowest, least }: Lowest): string {
  const who = lowest === 1 ? "Every episode earns" : `${formatPercent(lowest)} of the episodes earn`;
  return `${who} ${formatNumber(least)}`;
}
