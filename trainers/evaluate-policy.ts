import type { EnvironmentDefinition, EnvironmentSpec } from "../src/environment/environment.ts";
import { deriveSeed } from "../src/random/random.ts";
import { collectGroups } from "../src/rollout/collect-groups.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { rollout } from "../src/rollout/rollout.ts";
import type { RolloutOptions } from "../src/rollout/rollout-options.ts";
import { partAccuracies, partRewards } from "./part-metrics.ts";
import { refuseFailure } from "./refuse-failure.ts";
import { isUnscored, rolloutMetrics } from "./rollout-metrics.ts";

/**
 * Plays tasks with a policy and returns metrics: those of any rollout but for the training signal, `accuracy` (the
 * share of all episodes in which every agent earned the top reward) and `accuracy/scored` (of scored ones only). Of a
 * mixture, whose `partOf` is given, each environment's `reward/<environment>` and `accuracy/<environment>` too. Throws
 * the first episode's error where every episode failed.
 */
export async function evaluatePolicy<Task>(
  options: RolloutOptions<Task> & { readonly spec: EnvironmentSpec } & Pick<EnvironmentDefinition, "partOf">,
): Promise<Record<string, number>> {
  const { spec, partOf, seed, ...rest } = options;
  const groups = await collectGroups(rollout({ ...rest, seed: deriveSeed(seed, "evaluation") }));
  refuseFailure(groups);
  const episodes = groups.flatMap((group) => group.episodes);
  const isCorrect = (episode: Episode): boolean =>
    isTop(episode, (partOf?.(episode.task.id)?.spec ?? spec).rewardRange[1]);
  const correct = episodes.filter(isCorrect).length;
  const scored = episodes.filter((episode) => !isUnscored(episode)).length;
  const { "groups/without-signal": _, ...metrics } = rolloutMetrics(groups);
  return {
    ...metrics,
    ...(partOf === undefined
      ? {}
      : { ...partRewards(groups, { partOf }), ...partAccuracies(groups, { partOf, isCorrect }) }),
    ...(episodes.length === 0 ? {} : { accuracy: correct / episodes.length }),
    ...(scored === 0 ? {} : { "accuracy/scored": correct / scored }),
  };
}

function isTop(episode: Episode, top: number): boolean {
  return Object.values(episode.agents).every(({ reward }) => reward.status === "scored" && reward.value >= top - 1e-9);
}
