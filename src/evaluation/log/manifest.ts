import type { AgentId } from "../../contract/action.ts";
import type { CorrectRule } from "../../contract/correct-rule.ts";
import type { EnvironmentSpec } from "../../contract/environment.ts";
import type { Json } from "../../contract/json.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { RolloutLimits } from "../../core/rollout/rollout-limits.ts";

/** `evaluation.json`: what is evaluated, and how. What is in `identity` decides the episodes. */
export interface EvaluationManifest {
  readonly format: "lyceum-evaluation";
  readonly version: 1;
  /** Of the benchmark, or of the environment. */
  readonly name: string;
  readonly identity: EvaluationIdentity;
  /** Tasks of the run; `tasks.jsonl` has them. */
  readonly tasks: number;
  /** How often each task is played. */
  readonly samples: number;
  /** SHA-256 over the hashes of the tasks in order. */
  readonly tasksHash: string;
  readonly spec: ManifestSpec;
  /** Absent: nothing counts as correct, and there is no accuracy. */
  readonly correct?: CorrectRule;
  /** The k of pass@k and pass^k. */
  readonly k: readonly number[];
  /** Dollars for a million tokens, where known. */
  readonly price?: TokenPrice;
  /** Versions that may matter: `lyceum`, `node`, `platform`, and packages by name. */
  readonly software: Readonly<Record<string, string>>;
  /** When the run first started, in ISO 8601. */
  readonly startedAt: string;
  /** The folder whose episodes were graded again, where this run generated nothing itself. */
  readonly rescoredFrom?: string;
}

/** What the environment says of itself. JSON has no infinity: a reward without a bound has null there. */
export interface ManifestSpec extends Pick<EnvironmentSpec, "agents" | "maxTurns" | "deterministic"> {
  readonly rewardRange: readonly [minimum: number | null, maximum: number | null];
}

/** What decides the episodes: a run that is resumed must have the same. */
export interface EvaluationIdentity {
  /** The policies, by agent. */
  readonly models: Readonly<Record<AgentId, string>>;
  /** How models are asked beyond their names, by model: further fields of requests and the like. */
  readonly modelOptions?: Readonly<Record<string, Json>>;
  /** The model that judges, where one does. */
  readonly judge?: string;
  /** The players change seats: in member m the agent at place i is played by the model of the agent at place i + m. */
  readonly rotated?: boolean;
  /** As it is asked for: a name, a file, a package. */
  readonly environment: { readonly name: string; readonly options: Json };
  /** SHA-256 over the environment's id, options and spec. */
  readonly environmentHash: string;
  /** The module whose rubric graded the episodes, where the environment did not. */
  readonly rubric?: string;
  readonly split: string;
  /** How tasks are put to the model, where a benchmark says so; such as `chat`, or `completion` with 8 shots. */
  readonly prompt?: { readonly format: string; readonly shots: number };
  readonly sampling: SamplingSettings;
  /** What bounds an episode, of the limits that were given and are finite. */
  readonly limits?: Partial<RolloutLimits>;
  readonly seed: number;
}

/** What tokens cost, in dollars for a million. */
export interface TokenPrice {
  readonly prompt: number;
  readonly completion: number;
}

/** A line of `tasks.jsonl`. */
export interface TaskLine {
  /** The place in the run, from 0. */
  readonly index: number;
  readonly id: string;
  /** SHA-256 of the task's canonical JSON. */
  readonly hash: string;
  /** What its episodes are seeded by: the run's seed, or one derived from it where the same task comes again. */
  readonly seed: number;
  /** The task's own level, difficulty or kind, where it has one. */
  readonly level?: string;
  /** The task itself, gold answer included. */
  readonly task: Json;
}
