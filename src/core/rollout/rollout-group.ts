import type { Group } from "../../contract/episode.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { collectGroups } from "./collect-groups.ts";
import { rollout } from "./rollout.ts";
import type { RolloutOptions } from "./rollout-options.ts";

/**
 * Plays one task `groupSize` times. All episodes have the same task and environment seed, and different sampling seeds.
 * Rejects with the errors of {@link rollout}.
 */
export async function rolloutGroup<Task>(
  options: Omit<RolloutOptions<Task>, "tasks"> & { readonly task: TaskEntry<Task> },
): Promise<Group> {
  const groups = await collectGroups(
    rollout({ ...options, concurrency: options.concurrency ?? options.groupSize ?? 1, tasks: [options.task] }),
  );
  return groups[0]!;
}
