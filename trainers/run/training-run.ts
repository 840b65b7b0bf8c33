import type { AgentId } from "../../src/contract/action.ts";
import type { AgentProgram } from "../../src/contract/agent-program.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Json } from "../../src/contract/json.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import type { PolicySpecification } from "../../src/core/policy/policy-specification.ts";
import type { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import type { EpisodeWarnings } from "../../src/core/rollout/episode-warnings.ts";
import type { TraceWriter } from "../../src/core/trace/trace-writer.ts";
import type { TrainingProgress } from "../../src/core/training-progress.ts";
import type { Algorithm, AlgorithmDefinition } from "../algorithms/index.ts";
import type { TrainingBackend } from "../backend/training-backend.ts";
import type { ResolvedConfig, TrainingConfigInput } from "../config/training-config.ts";
import type { RewardProcessor } from "../rewards/reward-processor.ts";
import type { TaskOrder } from "../tasks/task-order.ts";
import type { Learners } from "./learners.ts";

/** A resolved config, and facts about the model that its defaults depend on. */
export interface Resolution {
  readonly config: ResolvedConfig;
  /**
   * Describes the default learning rate, such as `LoRA, from rewards`. Undefined if the config sets a learning rate.
   */
  readonly defaultRateOf: string | undefined;
  /** True if the model started with random weights, in this run or in a run that it continues. */
  readonly fromScratch: boolean;
}

/** The options of {@link train}. */
export interface TrainOptions {
  /** Plain data, or the result of `resolveConfig`. */
  readonly config: TrainingConfigInput;
  readonly environment: EnvironmentDefinition;
  /**
   * The options that the environment was created with. Checkpoints record them, and a resumed run must have the same.
   */
  readonly environmentOptions?: Readonly<Record<string, unknown>>;
  /**
   * The policies of frozen agents, by agent. Their episodes count for the other agents, but the frozen agents are not
   * trained. The policies are not closed. A resumed run must have the same.
   */
  readonly policies?: Readonly<Record<AgentId, Policy>>;
  /**
   * The programs of trained agents, by agent. Each action of such an agent runs its program, whose model calls are
   * answered by the weights in training. A resumed run must have the same.
   */
  readonly programs?: Readonly<Record<AgentId, AgentProgram>>;
  /**
   * The policy that the model plays against in evaluations, from both sides of a game of two agents. It is not closed.
   */
  readonly opponent?: Policy;
  /**
   * The descriptions of `policies` and `opponent` in checkpoints. A resumed run must have equal ones. By default, they
   * are the entries of the config, or the names of the policies.
   */
  readonly recorded?: {
    readonly policies?: Readonly<Record<AgentId, PolicySpecification>>;
    readonly opponent?: PolicySpecification;
  };
  /** The backend. It is not closed. */
  readonly backend: TrainingBackend;
  /**
   * The run's folder. It gets `checkpoints/`, `evaluations/`, `trace.jsonl` if a trace is written, and `model/` at the
   * end.
   */
  readonly output: string;
  /** If true, continues from the newest checkpoint in `output`. False by default. */
  readonly resume?: boolean;
  /** The algorithms that `config.algorithm` may name. Those of Lyceum by default. */
  readonly algorithms?: readonly AlgorithmDefinition[];
  /** If aborted, the run saves a checkpoint and ends. */
  readonly signal?: AbortSignal;
  /** Reports the progress of the current step, for a view of the run. */
  readonly progress?: TrainingProgress;
}

/** An open run: everything that its steps need, and its progress. Closing it closes its models. */
export interface TrainingRun extends AsyncDisposable, Resolution {
  /** The number of steps: that of the config, or of its epochs. */
  readonly steps: number;
  /** The config and environment as JSON. A checkpoint of another identity cannot be resumed. */
  readonly identity: Json;
  readonly algorithm: Algorithm;
  readonly environment: EnvironmentDefinition;
  readonly pool: EnvironmentPool;
  /** Receives the training episodes. */
  readonly trace: TraceWriter | undefined;
  readonly learners: Learners;
  /** Finds mistakes of the environment in episodes. */
  readonly warnings: EpisodeWarnings;
  /** The policies of the frozen agents. */
  readonly frozen: Readonly<Record<AgentId, Policy>>;
  /** The programs of trained agents. */
  readonly programs: Readonly<Record<AgentId, AgentProgram>>;
  /** The policy that the model plays against in evaluations. Undefined if it plays against itself or frozen agents. */
  readonly opponent: Policy | undefined;
  readonly rewardProcessors: readonly RewardProcessor[];
  readonly tasks: TaskOrder;
  /** The held-out tasks. Empty if there is no evaluation. */
  readonly heldOut: readonly TaskEntry[];
  readonly output: string;
  readonly checkpoints: string;
  readonly signal: AbortSignal | undefined;
  readonly progress: Progress;
  /** Warnings about the tasks and about the checkpoint that the run continues from, in sentences. */
  readonly notes: readonly string[];
  /** The current activity of the run. */
  readonly activity: TrainingProgress;
  /** The groups of tasks that have metrics of their own. */
  readonly namedGroups: Set<string>;
}

/** The state after a finished step. A checkpoint consists of this and the models. */
export interface Progress {
  step: number;
  taskCursor: number;
  metrics: Record<string, number>;
  /** The newest checkpoint. */
  checkpoint: { readonly path: string; readonly step: number } | undefined;
  /** The last step after which an evaluation was run. */
  evaluated: number | undefined;
  /** The metric value of the best checkpoint. */
  best: number | undefined;
  /** True after the warning that something is too long for a model. */
  warnedOverlong: boolean;
  /** True if a step has changed the weights of a policy. */
  trained: boolean;
  /** The length of the trace after this step, in bytes. */
  traceLength: number | undefined;
}
