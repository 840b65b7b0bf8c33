import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Group } from "../../src/contract/episode.ts";
import { mean } from "../../src/core/statistics.ts";
import { byGroup } from "../../src/core/task-groups.ts";
import { scoredRewards } from "./rollout-metrics.ts";

type Described = Pick<EnvironmentDefinition, "spec">;

/**
 * Returns the name of a metric of a group of tasks: `reward/group/<group>`. In a mixture, `reward/<environment>`, and
 * `reward/<environment>/<group>` for the groups of its environments.
 */
export function taskGroupMetric(metric: "accuracy" | "reward", group: string, { spec }: Described): string {
  return spec.environments === undefined ? `${metric}/group/${group}` : `${metric}/${group}`;
}

/**
 * Returns the mean reward of each group of tasks over its agents' scored episodes. `named` are the groups with metrics
 * of their own. New ones are added, up to 32. All others are in one metric.
 */
export function taskGroupMetrics(
  played: readonly { readonly group: Group; readonly taskGroup?: string | undefined }[],
  { environment, named }: { readonly environment: Described; readonly named: Set<string> },
): Record<string, number> {
  return Object.fromEntries(
    [...byGroup(played, ({ taskGroup }) => taskGroup, named)].flatMap(([name, own]) => {
      const rewards = scoredRewards(own.flatMap(({ group }) => group.episodes));
      return rewards.length === 0 ? [] : [[taskGroupMetric("reward", name, environment), mean(rewards)]];
    }),
  );
}
