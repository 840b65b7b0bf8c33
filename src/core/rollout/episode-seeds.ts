import type { AgentId } from "../../contract/action.ts";
import { deriveSeed } from "../random/random.ts";
import type { EpisodePosition } from "./run-settings.ts";

/** Returns the seed of a task's episodes: the rollout's seed, or one derived from it if the task occurred before. */
export function taskSeed(seed: number, timesBefore: number): number {
  return timesBefore === 0 ? seed : deriveSeed(seed, "again", timesBefore);
}

/** Returns the seed of the environment. It is the same for all episodes of a group. */
export function resetSeed({ seed, entry }: Pick<EpisodePosition<unknown>, "seed" | "entry">): number {
  return deriveSeed(seed, entry.hash, "environment");
}

/** Returns the seed of an agent's action in a turn. `hash` is that of the task, and `seed` that of its episodes. */
export function turnSeed(options: {
  readonly seed: number;
  readonly hash: string;
  readonly sampleIndex: number;
  readonly agent: AgentId;
  readonly turn: number;
}): number {
  const { seed, hash, sampleIndex, agent, turn } = options;
  return deriveSeed(seed, hash, sampleIndex, agent, turn);
}
