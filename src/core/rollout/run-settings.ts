import type { AgentId } from "../../contract/action.ts";
import type { Policy } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { deriveSeed } from "../random/random.ts";
import type { EnvironmentPool } from "./environment-pool.ts";
import type { FlushBarrier } from "./flush-barrier.ts";
import type { RolloutLimits } from "./rollout-limits.ts";
import type { TimeSlice } from "./time-slice.ts";

/** What the episodes of one rollout share. */
export interface RunSettings<Task> {
  readonly pool: EnvironmentPool<Task>;
  /** One policy for each agent of the environment. */
  readonly policies: ReadonlyMap<AgentId, Policy>;
  readonly limits: RolloutLimits;
  readonly sampling: SamplingSettings;
  readonly slice: TimeSlice;
  /** A turn whose mean reward exceeds it ends its episode. */
  readonly terminationThreshold?: number;
  /** Agents whose rewards do not count for that. */
  readonly partners?: readonly AgentId[];
  /** Present when a policy batches. Whoever plays an episode has entered it. */
  readonly barrier: FlushBarrier | undefined;
}

/** What to play. */
export interface RunPlace<Task> {
  readonly entry: TaskEntry<Task>;
  readonly group: number;
  readonly member: number;
  readonly seed: number;
}

/** The seed of the environment: the same for every member of a group. */
export function resetSeed({ seed, entry }: Pick<RunPlace<unknown>, "seed" | "entry">): number {
  return deriveSeed(seed, entry.hash, "environment");
}
