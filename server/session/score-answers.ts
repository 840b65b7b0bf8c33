import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Message } from "../../src/contract/message.ts";
import { type Reward, scored } from "../../src/contract/reward.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { defaultRolloutLimits } from "../../src/core/rollout/rollout-limits.ts";
import { groupRewards } from "../../src/core/rollout/score-group.ts";

/** The answers of a group of episodes of one task. */
export interface AnswersToScore {
  readonly split: string;
  readonly index: number;
  /** 0 by default. */
  readonly seed?: number | undefined;
  /** The messages of the agent in each episode. */
  readonly answers: readonly (readonly Message[])[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plays the answers again and returns what the environment's `scoreGroup` gives the only agent of each episode. These
 * rewards are added to those of the steps. 0 if the environment gives none.
 */
export async function scoreAnswers(
  definition: EnvironmentDefinition,
  { split, index, seed = 0, answers, signal }: AnswersToScore,
): Promise<readonly Reward[]> {
  const task = await (await definition.tasks(split, { signal })).get(index, { signal });
  const { specificationVersion, spec } = definition;
  const environment = { specificationVersion, spec, create: () => definition.create(), scoreGroup: async () => ({}) };
  const episodes = await Promise.all(
    answers.map((messages, sampleIndex) =>
      rolloutEpisode({ environment, task, seed, sampleIndex, policies: scriptedPolicy(messages), signal }),
    ),
  );
  const rewardOf = await groupRewards({
    factory: definition as never,
    episodes,
    limitMs: defaultRolloutLimits.environmentMs,
    signal,
  });
  return episodes.map((episode) => rewardOf?.(episode, spec.agents[0]!) ?? scored(0));
}
