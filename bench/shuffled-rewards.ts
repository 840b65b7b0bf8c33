import { addRewards, deriveSeed } from "../src/entry-points/contract.ts";
import { createRandom, type EnvironmentDefinition, type Episode, scored } from "../src/index.ts";

/** Wraps an environment: when a group is complete, its rewards are randomly permuted among its episodes. */
export function shuffledRewards(environment: EnvironmentDefinition, seed: number): EnvironmentDefinition {
  return {
    ...environment,
    create: () => environment.create(),
    tasks: (split, options) => environment.tasks(split, options),
    scoreGroup: async (group: readonly Episode[]) => {
      const own = group.map((episode) => rewardOf(episode));
      const dealt = createRandom(deriveSeed(seed, group[0]!.task.hash)).shuffle(own);
      return Object.fromEntries(
        group.map((episode, i) => [
          episode.id,
          { agent: scored(dealt[i]! - own[i]!, { shuffled: dealt[i]! - own[i]! }) },
        ]),
      );
    },
  };
}

function rewardOf({ agents }: Episode): number {
  const reward = addRewards(scored(0, {}), agents.agent!.reward);
  return reward.status === "scored" ? reward.value : 0;
}
