import type { AgentId } from "../contract/action.ts";
import type { CorrectRule } from "../contract/correct-rule.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import type { Json } from "../contract/json.ts";
import type { Policy } from "../contract/policy.ts";
import type { SamplingSettings } from "../contract/sampler.ts";
import type { TaskEntry } from "../contract/taskset.ts";
import type { EnvironmentPool } from "../core/rollout/environment-pool.ts";
import type { RolloutLimits } from "../core/rollout/rollout-limits.ts";
import type { EvaluationIdentity, TokenPrice } from "./log/manifest.ts";

/**
 * The options of {@link evaluate}.
 *
 * @example
 * import { type EvaluateOptions, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const options: EvaluateOptions = {
 *   environment: mathEnvironment({ tasks: "arithmetic" }),
 *   policies: scriptedPolicy(["12"]),
 *   split: "test[:50]",
 *   samples: 4,
 *   k: [1, 4],
 *   folder: "runs/guess",
 *   existing: "resume",
 * };
 * options.k; // => [1, 4]
 */
export interface EvaluateOptions<Task = unknown> {
  /** The name of the benchmark. The environment's id by default. */
  readonly name?: string;
  readonly environment: EnvironmentDefinition<Task>;
  /** The environment as the user names it (a name, a file, a package), for the manifest. Its id by default. */
  readonly environmentName?: string;
  /** The options of the environment, for the manifest. */
  readonly environmentOptions?: Json;
  /** One policy for all agents, or one per agent by name. */
  readonly policies: Policy | Readonly<Record<AgentId, Policy>>;
  /** The names of the policies in the log. Their own names by default. A resumed run must have the same names. */
  readonly models?: Readonly<Record<AgentId, string>>;
  /** True if policies rotate between agents, as by `rotatePlayers`. `models` then has the names for sample 0. */
  readonly rotated?: boolean;
  /** The agents that are not evaluated: their rewards do not decide whether an episode is correct. None by default. */
  readonly frozen?: readonly AgentId[];
  /** The environment's open instances, which stay open. By default, instances are created and closed again. */
  readonly pool?: EnvironmentPool<Task>;
  /** The tasks to play, all of `split`. By default the environment loads them. */
  readonly tasks?: readonly TaskEntry<Task>[];
  /**
   * A split or a slice of one, such as `test[:50]`. By default `test` if the environment has it, else its first split.
   */
  readonly split?: string;
  /** The maximum number of tasks. All tasks of the split by default. */
  readonly limit?: number;
  /** The number of episodes per task. 1 by default. */
  readonly samples?: number;
  /** The values of k for pass@k and pass^k, at most the number of samples. 1 and the number of samples by default. */
  readonly k?: readonly number[];
  /** 0 by default. */
  readonly seed?: number;
  /** Temperature 1 and at most 256 tokens per action by default. */
  readonly sampling?: SamplingSettings;
  readonly limits?: Partial<RolloutLimits>;
  /** The maximum number of concurrent episodes. 64 by default. */
  readonly concurrency?: number;
  /**
   * The rule for correct episodes. By default the environment's own statement, or else the highest reward of the
   * environment for all agents. Null for no rule.
   */
  readonly correct?: CorrectRule | null;
  readonly prompt?: EvaluationIdentity["prompt"];
  /** The name of the judge model, for the manifest. The name of the opened policy by default. */
  readonly judge?: string;
  /** Further settings of models that change their answers, by model, for the manifest. Must not contain API keys. */
  readonly modelOptions?: Readonly<Record<string, Json>>;
  readonly price?: TokenPrice;
  /** The price of the judge's tokens. */
  readonly judgePrice?: TokenPrice;
  /** Versions for the manifest, by name. */
  readonly software?: Readonly<Record<string, string>>;
  /** The run folder. */
  readonly folder: string;
  /**
   * What to do if the folder already has a run. `refuse` (the default) throws. `resume` plays the missing episodes.
   * `retry-failed` plays the missing and the failed or unscored episodes.
   */
  readonly existing?: "refuse" | "resume" | "retry-failed";
  /**
   * True to go on if a server rejects an API key or the configuration. The episodes are then unscored. By default the
   * run stops, because the server would reject all other requests too.
   */
  readonly ignoreRefusedKeys?: boolean;
  readonly signal?: AbortSignal;
}
