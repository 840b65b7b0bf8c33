import { checkVersion } from "../../contract/specification-version.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { taskSeed } from "./episode-seeds.ts";
import type { PlannedTask, RolloutOptions } from "./rollout-options.ts";
import type { EpisodePosition } from "./run-settings.ts";

/** An episode to play, and the number of episodes to play in its group. */
export interface PlannedEpisode<Task> extends EpisodePosition<Task> {
  readonly groupSize: number;
}

/** Yields all episodes to play, in task order. */
export async function* plannedEpisodes<Task>(
  options: PlacesOptions<Task> & { readonly groupSize: number },
  signal: AbortSignal,
): AsyncGenerator<PlannedEpisode<Task>, void, undefined> {
  const allIndices = Array.from({ length: options.groupSize }, (_, sampleIndex) => sampleIndex);
  for await (const position of plannedGroups(options, signal)) {
    const sampleIndices = position.entry.sampleIndices ?? allIndices;
    for (const sampleIndex of sampleIndices) yield { ...position, groupSize: sampleIndices.length, sampleIndex };
  }
}

type PlacesOptions<Task> = Pick<RolloutOptions<Task>, "tasks" | "seed" | "skip">;

/**
 * Yields all tasks to play, in order, as the position of the first sample. A task that occurs again gets another seed,
 * so that its episodes differ.
 */
export async function* plannedGroups<Task>(
  { tasks, seed, skip = 0 }: PlacesOptions<Task>,
  signal: AbortSignal,
): AsyncGenerator<EpisodePosition<Task> & { readonly entry: PlannedTask<Task> }, void, undefined> {
  const seen = new Map<string, number>();
  let group = 0;
  for await (const entry of taskEntries(tasks, signal)) {
    const times = seen.get(entry.hash) ?? 0;
    seen.set(entry.hash, times + 1);
    if (group >= skip) yield { entry, group, sampleIndex: 0, seed: taskSeed(seed, times) };
    group += 1;
  }
}

async function* taskEntries<Task>(
  tasks: RolloutOptions<Task>["tasks"],
  signal: AbortSignal,
): AsyncGenerator<PlannedTask<Task>, void, undefined> {
  if (!isTaskset(tasks)) return yield* tasks;
  checkVersion(`Taskset "${tasks.name}"`, tasks);
  const length = tasks.length === "unbounded" ? Infinity : tasks.length;
  for (let index = 0; index < length; index++) yield await tasks.get(index, { signal });
}

function isTaskset<Task>(tasks: RolloutOptions<Task>["tasks"]): tasks is Taskset<Task> {
  return "get" in tasks && "length" in tasks && !(Symbol.iterator in tasks);
}
