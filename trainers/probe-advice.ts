import type { ProbeEvent } from "../src/contract/training-event.ts";
import { formatNumber, formatPercent } from "../src/core/text/format.ts";
import type { TrainingRun } from "./training-run.ts";

/** From this share of the groups on, a signal is common enough. */
const enoughGroups = 0.5;
/** From this share of other rewards on, the rewards of a batch differ enough. */
const enoughEpisodes = 0.1;
/** From this share of the completions on, being cut off matters. */
const manyCutOff = 0.25;
/** From this share of the episodes on, saying the same as another matters. */
const manyIdentical = 0.5;
/** From this share of the episodes on, the lowest reward is what a model usually earns. */
const mostlyLowest = 0.75;

/** What to change so that more groups have a signal, the likeliest first; nothing if enough have one. */
export function probeAdvice(
  run: Pick<TrainingRun, "config" | "environment" | "algorithm">,
  found: Pick<ProbeEvent, "groups" | "withSignal" | "comparison" | "metrics"> & {
    /** What every trained agent of every scored episode earned. */
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
      `harder tasks. Every episode earns ${formatNumber(most)}, the most there is: nothing is left to learn here.`,
    ];
  }
  const lowest = rewards.filter((reward) => reward === least).length / rewards.length;
  // What a model from scratch writes is noise: neither its length nor its likeness says anything.
  if (config.model.scratch !== undefined && lowest >= mostlyLowest) return [scratchAdvice(run, { lowest, least })];
  const advice: string[] = [];
  const cutOff = metrics["length/cut-off"] ?? 0;
  if (cutOff >= manyCutOff) {
    advice.push(
      `a higher sampling.maxTokens, now ${config.sampling.maxTokens}. ${formatPercent(cutOff)} of the completions ` +
        "are cut off there, and are judged unfinished. Or ask for shorter answers.",
    );
  }
  if (lowest >= mostlyLowest) advice.push(...beginnerAdvice(run, { lowest, least }));
  const identical = metrics["groups/duplicates"] ?? 0;
  if (identical >= manyIdentical) {
    advice.push(
      `a higher sampling.temperature, now ${formatNumber(config.sampling.temperature)}. ${formatPercent(identical)} ` +
        "of the episodes say the same as another of their group.",
    );
  }
  if (found.comparison === "group" && lowest < mostlyLowest) {
    advice.push(
      `larger groups (algorithm.groupSize, now ${run.algorithm.rollout.groupSize}). Rewards differ from task to task, ` +
        "and hardly within a task.",
    );
  }
  return advice;
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

/** How often the lowest reward was earned, and what it is. */
interface Lowest {
  readonly lowest: number;
  readonly least: number;
}

const sftFirst = "SFT first: a stage of algorithm sft before this one, which learns the environment's demonstrations.";

function scratchAdvice({ environment }: Pick<TrainingRun, "environment">, lowest: Lowest): string {
  const why = `${earned(lowest)}, and a model from scratch does not find the reward by chance.`;
  if (environment.demonstrate !== undefined) return `${sftFirst} ${why}`;
  return (
    "SFT first, on demonstrations: give the environment a demonstrate function. Or begin with a trained model " +
    `(model.path). ${why}`
  );
}

/** For a trained model that earns as good as nothing. */
function beginnerAdvice({ environment }: Pick<TrainingRun, "environment">, lowest: Lowest): string[] {
  return [
    ...(environment.demonstrate === undefined ? [] : [sftFirst]),
    `an easier level of the environment, by its options or tasks.curriculum. ${earned(lowest)}.`,
    "a reward for the form of an answer too, so that a wrong answer in the right form earns something.",
  ];
}

function earned({ lowest, least }: Lowest): string {
  const who = lowest === 1 ? "Every episode earns" : `${formatPercent(lowest)} of the episodes earn`;
  return `${who} ${formatNumber(least)}`;
}
