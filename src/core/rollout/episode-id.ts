/** Returns the id of an episode. It is unique within a rollout and reproducible. `seed` is the seed of the task. */
export function episodeId(options: {
  readonly hash: string;
  readonly sampleIndex: number;
  readonly seed: number;
}): string {
  const { hash, sampleIndex, seed } = options;
  return `${hash.slice(0, 16)}-${sampleIndex}-${seed}`;
}
