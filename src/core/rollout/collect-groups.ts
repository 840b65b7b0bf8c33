import type { Episode, Group } from "../../contract/episode.ts";
import type { RolloutEvent } from "./rollout-event.ts";

/**
 * Runs a rollout to its end and returns its groups in task order. Rejects with the errors of the rollout.
 *
 * @example
 * import { collectGroups, rollout, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const tasks = await environment.tasks("test[:3]");
 * const policies = scriptedPolicy(({ seed }) => String(seed % 100));
 * const groups = await collectGroups(rollout({ environment, tasks, policies, groupSize: 4, seed: 1 }));
 * groups.map(({ episodes }) => episodes.length); // => [4, 4, 4]
 */
export async function collectGroups(
  events: AsyncIterable<RolloutEvent>,
  options: {
    /** Called after each episode. */
    readonly onEpisode?: (episode: Episode) => void;
  } = {},
): Promise<Group[]> {
  const groups: Group[] = [];
  for await (const event of events) {
    if (event.type === "episode-end") options.onEpisode?.(event.episode);
    else if (event.type === "group-end") groups[event.group] = event.result;
  }
  return groups;
}
