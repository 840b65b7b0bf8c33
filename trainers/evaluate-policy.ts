import type { AgentId, EnvironmentDefinition, EnvironmentSpec } from "../src/environment/environment.ts";
import { deriveSeed } from "../src/random/random.ts";
import { collectGroups } from "../src/rollout/collect-groups.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { rollout } from "../src/rollout/rollout.ts";
import type { RolloutOptions } from "../src/rollout/rollout-options.ts";
import { agentRewards } from "./agent-rewards.ts";
import { trainedGroup } from "./credit/trained-agents.ts";
import { partAccuracies, partRewards } from "./part-metrics.ts";
import { refuseFailure } from "./refuse-failure.ts";
import { isUnscored, rolloutMetrics } from "./rollout-metrics.ts";

/**
 * Plays tasks with a policy and returns metrics: those of any rollout but for the training signal, `accuracy` (the
 * share of all episodes in which every agent earned the top reward) and `accuracy/scored` (of scored ones only). Of a
 * mixture, whose `partOf` is given, each environment's `reward/<environment>` and `accuracy/<environment>` too. All are
 * of the agents that are not `frozen`; where some are, each agent's reward is there too. Throws the first episode's
 * error where every episode failed.
 */
export async function evaluatePolicy<Task>(
  options: RolloutOptions<Task> & {
    readonly spec: EnvironmentSpec;
    readonly frozen?: readonly AgentId[];
  } & Pick<EnvironmentDefinition, "partOf">,
): Promise<Record<string, number>> {
  const { spec, partOf, seed, frozen = [], ...rest } = options;
  const played = await collectGroups(rollout({ ...rest, seed: deriveSeed(seed, "evaluation") }));
  refuseFailure(played);
  const groups = played.map((group) => trainedGroup(group, new Set(frozen)));
  const episodes = groups.flatMap((group) => group.episodes);
  const isCorrect = (episode: Episode): boolean =>
    isTop(episode, (partOf?.(episode.task.id)?.spec ?? spec).rewardRange[1]);
  const correct = episodes.filter(isCorrect).length;
  const scored = episodes.filter((episode) => !isUnscored(episode)).length;
  const { "groups/without-signal": _, ...metrics } = rolloutMetrics(groups);
  return {
    ...metrics,
    ...(frozen.length === 0 ? {} : agentRewards(played)),
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
