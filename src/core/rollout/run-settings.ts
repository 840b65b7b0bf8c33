import type { AgentId } from "../../contract/action.ts";
import type { Policy } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import type { EnvironmentPool } from "./environment-pool.ts";
import type { FlushBarrier } from "./flush-barrier.ts";
import type { RolloutLimits } from "./rollout-limits.ts";
import type { TimeSlice } from "./time-slice.ts";

/** The shared settings of the episodes of a rollout. */
export interface RunSettings<Task> {
  readonly pool: EnvironmentPool<Task>;
  /** One policy per agent of the environment. */
  readonly policies: ReadonlyMap<AgentId, Policy>;
  readonly limits: RolloutLimits;
  readonly sampling: SamplingSettings;
  readonly slice: TimeSlice;
  /** A turn whose mean reward is above this threshold ends its episode. */
  readonly terminationThreshold?: number;
  /** Agents whose rewards do not count for the threshold. */
  readonly partners?: readonly AgentId[];
  /** Present if a policy batches. A slot that plays an episode has entered it. */
  readonly barrier: FlushBarrier | undefined;
}

/** The position of an episode in a rollout. */
export interface EpisodePosition<Task> {
  readonly entry: TaskEntry<Task>;
  readonly group: number;
  readonly sampleIndex: number;
  readonly seed: number;
}
