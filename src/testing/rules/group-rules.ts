import type { EnvironmentFactory } from "../../contract/environment.ts";
import type { Episode } from "../../contract/episode.ts";
import type { Policy } from "../../contract/policy.ts";
import type { Reward } from "../../contract/reward.ts";
import { demonstrationPolicy } from "../../core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../core/rollout/rollout-episode.ts";
import { type GroupReward, groupRewards } from "../../core/rollout/score-group.ts";
import type { Rule, TaskCase } from "../rule.ts";

const slack = 1e-9;

/** The rules for the rewards of a group, if an environment has group rewards. */
export const groupRules: readonly Rule<TaskCase>[] = [
  {
    name: "groups-score-each-episode",
    hint: "Return a reward for every agent of every episode, by the episode's id, or none at all. A failed episode must not leave the others without rewards.",
    check: async (given) => {
      if (given.environment.scoreGroup === undefined) return undefined;
      const episodes = await playedGroup(given);
      const rewardOf = await groupRewards(scoring(given, episodes));
      // If all episodes failed, the group is not scored.
      if (rewardOf === undefined) return undefined;
      const rewards = episodes
        .filter(({ status }) => status !== "failed")
        .flatMap((episode) => Object.keys(episode.agents).map((agent) => rewardOf(episode, agent)));
      const failed = rewards.find((reward) => reward?.status === "unscored");
      if (failed?.status === "unscored") return `left a group with a failed episode unscored: ${failed.reason}`;
      const count = rewards.filter((reward) => reward !== undefined).length;
      return count === 0 || count === rewards.length
        ? undefined
        : `rewarded ${count} of ${rewards.length} agents' episodes of a group`;
    },
  },
  {
    name: "groups-ignore-order",
    hint: "Score what the episodes did, not their position in the group, and return rewards by their ids.",
    check: async (given) => {
      const { environment } = given;
      if (environment.scoreGroup === undefined || !environment.spec.deterministic) return undefined;
      const episodes = await playedGroup(given);
      const rewardOf = await groupRewards(scoring(given, episodes));
      const turned = await groupRewards(scoring(given, episodes.toReversed()));
      if (rewardOf === undefined || turned === undefined) return undefined;
      return differs(episodes, rewardOf, turned) ? "scored the same group in another order differently" : undefined;
    },
  },
];

function scoring(given: TaskCase, episodes: readonly Episode[]): Parameters<typeof groupRewards>[0] {
  const { environment, callMs, signal } = given;
  return { factory: environment, episodes, limitMs: callMs, signal };
}

/** Plays the episodes of a group without its group rewards: an expert's, two meaningless ones, and one that fails. */
async function playedGroup(given: TaskCase): Promise<readonly Episode[]> {
  const { environment, task, seed, callMs, signal } = given;
  const { specificationVersion, spec } = environment;
  const alone: EnvironmentFactory = { specificationVersion, spec, create: () => environment.create() };
  const failing = scriptedPolicy(() => {
    throw new Error("This episode fails.");
  });
  const isDemonstrated = environment.demonstrate?.(task.task) !== undefined;
  const expert = isDemonstrated ? demonstrationPolicy({ environment }) : scriptedPolicy(() => "1");
  const policies: readonly Policy[] = [expert, scriptedPolicy(() => ""), scriptedPolicy(() => "x"), failing];
  const rest = { environment: alone, task, seed, limits: { environmentMs: callMs }, signal };
  return Promise.all(policies.map((policy, sampleIndex) => rolloutEpisode({ ...rest, policies: policy, sampleIndex })));
}

function differs(episodes: readonly Episode[], first: GroupReward, second: GroupReward): boolean {
  return episodes.some((episode) =>
    Object.keys(episode.agents).some((agent) => !isSame(first(episode, agent), second(episode, agent))),
  );
}

function isSame(first: Reward | undefined, second: Reward | undefined): boolean {
  if (first?.status !== "scored" || second?.status !== "scored") return first?.status === second?.status;
  return Math.abs(first.value - second.value) <= slack * Math.max(1, Math.abs(first.value));
}
