import type { AgentId } from "../../contract/action.ts";
import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { EnvironmentSpec } from "../../contract/environment.ts";
import type { Json } from "../../contract/json.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { RolloutLimits } from "../../core/rollout/rollout-limits.ts";

/** `evaluation.json`: the settings of an evaluation. `identity` has the settings that determine the episodes. */
export interface EvaluationManifest {
  readonly format: "lyceum-evaluation";
  readonly version: 2;
  /** The name of the benchmark or of the environment. */
  readonly name: string;
  readonly identity: EvaluationIdentity;
  /** The number of tasks in `tasks.jsonl`. */
  readonly tasks: number;
  /** The number of episodes per task. */
  readonly samples: number;
  /** The SHA-256 of the hashes of all tasks, in order. */
  readonly tasksHash: string;
  readonly spec: ManifestSpec;
  /** The rule for correct episodes. Without one, the run has no accuracy. */
  readonly correct?: CorrectRule;
  /** The values of k for pass@k and pass^k. */
  readonly k: readonly number[];
  /** The price of tokens, if known. */
  readonly price?: TokenPrice;
  /** The price of the judge's tokens, if known. */
  readonly judgePrice?: TokenPrice;
  /** The versions of `lyceum`, `node`, `platform` and of packages, by name. */
  readonly software: Readonly<Record<string, string>>;
  /** The time of the first start of the run, in ISO 8601. */
  readonly startedAt: string;
  /** The folder of the run whose episodes this run scored again. Absent if this run generated its own episodes. */
  readonly rescoredFrom?: string;
}

/** The environment's spec. JSON has no infinity, so an unbounded end of the reward range is null. */
export interface ManifestSpec extends Pick<EnvironmentSpec, "agents" | "maxTurns" | "deterministic"> {
  readonly rewardRange: readonly [minimum: number | null, maximum: number | null];
}

/** The settings that determine the episodes. A resumed run must have the same ones. */
export interface EvaluationIdentity {
  /** The policies, by agent. */
  readonly models: Readonly<Record<AgentId, string>>;
  /** Further settings of models that change their answers, by model, such as extra fields of requests. */
  readonly modelOptions?: Readonly<Record<string, Json>>;
  /** The judge model, if there is one. */
  readonly judge?: string;
  /**
   * True if models rotate between agents: in sample m, the model of agent i + m plays agent i (modulo their number).
   */
  readonly rotated?: boolean;
  /** The agents whose rewards do not decide whether an episode is correct, such as frozen agents of a training. */
  readonly frozen?: readonly AgentId[];
  /** The environment as the user names it: a name, a file or a package. */
  readonly environment: { readonly name: string; readonly options: Json };
  /** The SHA-256 of the environment's spec and options. */
  readonly environmentHash: string;
  /** The module whose rubric scored the episodes. Absent if the environment scored them. */
  readonly rubric?: string;
  readonly split: string;
  /** The format of a benchmark's prompts, such as `chat`, or `completion` with 8 shots. */
  readonly prompt?: { readonly format: string; readonly shots: number };
  readonly sampling: SamplingSettings;
  /** The given limits of an episode that are finite. */
  readonly limits?: Partial<RolloutLimits>;
  readonly seed: number;
}

/** The price of tokens, in dollars per million. */
export interface TokenPrice {
  readonly prompt: number;
  readonly completion: number;
}

/** A line of `tasks.jsonl`. */
export interface TaskLine {
  /** The index in the run, from 0. */
  readonly index: number;
  readonly id: string;
  /** The SHA-256 of the task's canonical JSON. */
  readonly hash: string;
  /** The seed of its episodes: the run's seed, or one derived from it if the same task occurs again. */
  readonly seed: number;
  /** The group of the task (`groupOf`), if it has one. */
  readonly level?: string;
  /** The task, including its reference answer. */
  readonly task: Json;
}
