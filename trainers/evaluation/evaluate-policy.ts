import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition, EnvironmentSpec } from "../../src/contract/environment.ts";
import type { Episode } from "../../src/contract/episode.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import type { RolloutOptions } from "../../src/core/rollout/rollout-options.ts";
import { defaultRule, isCorrect } from "../../src/evaluation/correctness.ts";
import { playerOfAgent, rotatePlayers } from "../../src/evaluation/rotate-players.ts";
import { trainedGroup } from "../credit/trained-agents.ts";
import { partAccuracies, partRewards } from "../metrics/part-metrics.ts";
import { isUnscored, rolloutMetrics } from "../metrics/rollout-metrics.ts";
import { agentMetrics } from "../rewards/agent-rewards.ts";
import { throwIfAllFailed } from "../training/failed-batch.ts";

/**
 * Plays tasks with a policy and returns metrics: those of {@link rolloutMetrics} except `groups/without-signal`,
 * `accuracy` (the share of all episodes that are correct) and `accuracy/scored` (the share of scored episodes that are
 * correct). An episode is correct if the environment says so, or, if it says nothing, if its reward is the top of the
 * reward range.
 *
 * - If `partOf` is given (a mixture), also returns `reward/<environment>` and `accuracy/<environment>`.
 * - If there are several agents, also returns each agent's reward. All other metrics are those of the agents that are
 *   not `frozen`.
 * - If there is an `opponent`, every task is played from both sides of a game of two agents. The metrics leave the
 *   opponent out.
 *
 * If every episode fails, throws the error of the first.
 */
export async function evaluatePolicy<Task>(
  options: RolloutOptions<Task> & {
    readonly spec: EnvironmentSpec;
    readonly frozen?: readonly AgentId[];
    readonly opponent?: Policy | undefined;
    /** Called when an episode ends. */
    readonly onEpisode?: (episode: Episode) => void;
  } & Pick<EnvironmentDefinition, "partOf">,
): Promise<Record<string, number>> {
  const { spec, partOf, seed, policies, groupSize = 1, frozen = [], opponent, onEpisode, ...rest } = options;
  const { agents } = spec;
  const events = rollout({
    ...rest,
    ...(opponent === undefined
      ? { policies, groupSize }
      : { policies: rotatePlayers(agents, [policies, opponent]), groupSize: 2 * groupSize }),
    seed: deriveSeed(seed, "evaluation"),
  });
  const played = await collectGroups(events, onEpisode === undefined ? {} : { onEpisode });
  throwIfAllFailed(played);
  const notTrained = (member: number): ReadonlySet<AgentId> =>
    new Set(
      opponent === undefined ? frozen : agents.filter((_, seat) => playerOfAgent(seat, { member, players: 2 }) === 1),
    );
  const groups = played.map((group) => trainedGroup(group, notTrained));
  const episodes = groups.flatMap((group) => group.episodes);
  const solved = (episode: Episode): boolean =>
    isCorrect(episode, defaultRule((partOf?.(episode.task.id) ?? { spec }).spec)) === true;
  const correct = episodes.filter(solved).length;
  const scored = episodes.filter((episode) => !isUnscored(episode)).length;
  const { "groups/without-signal": _, ...metrics } = rolloutMetrics(groups);
  return {
    ...metrics,
    // The opponent plays each agent in half of the episodes.
    ...agentMetrics(opponent === undefined ? played : groups),
    ...(partOf === undefined
      ? {}
      : { ...partRewards(groups, { partOf }), ...partAccuracies(groups, { partOf, isCorrect: solved }) }),
    ...(episodes.length === 0 ? {} : { accuracy: correct / episodes.length }),
    ...(scored === 0 ? {} : { "accuracy/scored": correct / scored }),
  };
}
