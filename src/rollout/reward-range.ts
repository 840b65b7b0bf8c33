import type { EnvironmentDefinition, EnvironmentSpec } from "../environment/environment.ts";
import type { Episode } from "./episode.ts";

/** Sums of parts, such as thirds, need not come to the last bit. */
const rounding = 1e-9;

/**
 * Says what the first episode earned beyond the range that its environment declares, and what to do; undefined if none
 * did. Of a mixture, whose `partOf` is given, the range of each episode's own environment counts.
 */
export function rangeWarning(
  episodes: readonly Episode[],
  { spec, partOf }: { readonly spec: EnvironmentSpec } & Pick<EnvironmentDefinition, "partOf">,
): string | undefined {
  for (const { task, agents } of episodes) {
    const { id, rewardRange } = partOf?.(task.id)?.spec ?? spec;
    const [low, high] = rewardRange;
    for (const [agent, { reward }] of Object.entries(agents)) {
      if (reward.status !== "scored") continue;
      const slack = rounding * Math.max(1, Math.abs(reward.value));
      if (reward.value >= low - slack && reward.value <= high + slack) continue;
      return (
        `Environment "${id}" gave agent "${agent}" ${reward.value} in task "${task.id}", outside of its rewardRange ` +
        `[${low}, ${high}]. Accuracy and charts go by that range: declare rewardRange as it is, or change the reward. ` +
        "This warning is shown once."
      );
    }
  }
  return undefined;
}
