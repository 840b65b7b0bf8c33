import { deriveSeed } from "../random/random.ts";

/** What the episodes of a task are seeded by: the rollout's seed, or one of its own where the task comes again. */
export function taskSeed(seed: number, timesBefore: number): number {
  return timesBefore === 0 ? seed : deriveSeed(seed, "again", timesBefore);
}

/** The id of an episode: unique within a rollout, and the same when it is played again. `seed` is that of its task. */
export function episodeId(options: { readonly hash: string; readonly member: number; readonly seed: number }): string {
  const { hash, member, seed } = options;
  return `${hash.slice(0, 16)}-${member}-${seed}`;
}
