import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Group } from "../../src/contract/episode.ts";
import { mean } from "../../src/core/statistics.ts";
import { scoredRewards } from "./rollout-metrics.ts";

/**
 * Returns the mean reward of each environment of a mixture over its agents' scored episodes, as `reward/<environment>`.
 * Returns nothing if the environment is not a mixture.
 */
export function partRewards(
  groups: readonly Group[],
  { environmentOf }: Pick<EnvironmentDefinition, "environmentOf">,
): Record<string, number> {
  if (environmentOf === undefined) return {};
  const byName = Map.groupBy(groups, ({ task }) => environmentOf(task.id)?.name);
  return Object.fromEntries(
    [...byName].flatMap(([name, own]) => {
      const rewards = scoredRewards(own.flatMap(({ episodes }) => episodes));
      return name === undefined || rewards.length === 0 ? [] : [[`reward/${name}`, mean(rewards)]];
    }),
  );
}
