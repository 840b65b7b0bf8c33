import type { AgentId } from "../contract/action.ts";
import type { CorrectRule } from "../contract/correct-rule.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import type { Json } from "../contract/json.ts";
import type { Policy } from "../contract/policy.ts";
import type { SamplingSettings } from "../contract/sampler.ts";
import type { RolloutLimits } from "../core/rollout/rollout-limits.ts";
import type { EvaluationIdentity, TokenPrice } from "./log/manifest.ts";

/** What {@link evaluate} is given. */
export interface EvaluateOptions<Task = unknown> {
  /** Of the benchmark; the environment's id by default. */
  readonly name?: string;
  readonly environment: EnvironmentDefinition<Task>;
  /** How the environment is asked for (a name, a file, a package), for the record; its id by default. */
  readonly environmentName?: string;
  /** What the environment was made from, for the record. */
  readonly environmentOptions?: Json;
  /** One policy for all agents, or one for each by name. */
  readonly policies: Policy | Readonly<Record<AgentId, Policy>>;
  /** What the log calls the policies; their own names by default. A run is resumed under the same names only. */
  readonly models?: Readonly<Record<AgentId, string>>;
  /** The players change seats from member to member, as `rotateSeats` has it; then `models` are those of member 0. */
  readonly rotated?: boolean;
  /** A split or a slice of one, such as `test[:50]`; the environment's `test`, else its first, by default. */
  readonly split?: string;
  /** The most tasks; all of the split by default. */
  readonly limit?: number;
  /** How often each task is played; 1 by default. */
  readonly samples?: number;
  /** The k of pass@k and pass^k; 1, and the number of samples, by default. None may be above it. */
  readonly k?: readonly number[];
  /** 0 by default. */
  readonly seed?: number;
  /** Temperature 1 and at most 256 tokens an action by default. */
  readonly sampling?: SamplingSettings;
  readonly limits?: Partial<RolloutLimits>;
  /** Episodes at once; 64 by default. */
  readonly concurrency?: number;
  /** By default an episode in which every agent earned the most that the environment gives; null: none counts. */
  readonly correct?: CorrectRule | null;
  readonly prompt?: EvaluationIdentity["prompt"];
  /** What judges where a model does, for the record. */
  readonly judge?: string;
  /** What else than their names decides what models answer, by model, for the record. It must hold no key. */
  readonly modelOptions?: Readonly<Record<string, Json>>;
  readonly price?: TokenPrice;
  /** Versions to record, by name. */
  readonly software?: Readonly<Record<string, string>>;
  /** The run's folder. */
  readonly folder: string;
  /**
   * What to do with a run that is in the folder already: refuse it, go on with what is missing of it, or play those
   * again that failed too. `"refuse"` by default.
   */
  readonly existing?: "refuse" | "resume" | "retry-failed";
  readonly signal?: AbortSignal;
}
