import { deriveSeed } from "../random/random.ts";

/** Returns the seed of a task's episodes: the rollout's seed, or one derived from it if the task occurred before. */
export function taskSeed(seed: number, timesBefore: number): number {
  return timesBefore === 0 ? seed : deriveSeed(seed, "again", timesBefore);
}

/** Returns the id of an episode. It is unique within a rollout and reproducible. `seed` is the seed of the task. */
export function episodeId(options: {
  readonly hash: string;
  readonly sampleIndex: number;
  readonly seed: number;
}): string {
  const { hash, sampleIndex, seed } = options;
  return `${hash.slice(0, 16)}-${sampleIndex}-${seed}`;
}
