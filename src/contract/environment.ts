import type { Action, AgentId } from "./action.ts";
import type { Episode } from "./episode.ts";
import type { Json } from "./json.ts";
import type { Message, ToolSpec } from "./message.ts";
import type { Reward } from "./reward.ts";
import type { Taskset } from "./taskset.ts";

/** What an environment says of itself before any episode. */
export interface EnvironmentSpec {
  /** The registered name, such as `"math"`. */
  readonly id: string;
  /** Every agent that may ever act, in a fixed order. */
  readonly agents: readonly AgentId[];
  /** The most steps an episode takes. */
  readonly maxTurns: number;
  /** The least and greatest total reward of an agent over one episode. */
  readonly rewardRange: readonly [minimum: number, maximum: number];
  /** Same task, seed and actions give the same observations and rewards; lets the loop replay instead of fork. */
  readonly deterministic: boolean;
  readonly tools?: readonly ToolSpec[];
  readonly description?: string;
  /** Its steps say whether what was answered is right (`correct`), apart from what it earned. */
  readonly statesCorrect?: boolean;
}

/**
 * What an agent sees before it acts: only what is new since its last action (the loop itself keeps the agent's own
 * message). `append` adds to the conversation, `replace` starts it anew.
 */
export interface Observation {
  readonly messages: readonly Message[];
  readonly context: "append" | "replace";
  readonly tools?: readonly ToolSpec[];
  readonly info?: Json;
}

/** One observation for exactly each agent that must act now; empty when the episode has ended. */
export type Observations = Readonly<Record<AgentId, Observation>>;

/**
 * What a step meant for one agent. `terminated`: its episode ended by the rules of the environment; `truncated`: it
 * was cut off from outside (a limit), so a value estimate would bootstrap.
 */
export interface AgentStep {
  readonly reward?: Reward;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** The result of a step. `agents` has an entry for every agent that acted, and may have one for any other. */
export interface StepResult {
  readonly observations: Observations;
  readonly agents: Readonly<Record<AgentId, AgentStep>>;
  /** Whether the answer of this step solves the task, apart from its reward; the last statement of an episode counts. */
  readonly correct?: boolean;
  readonly info?: Json;
}

/**
 * A world that agents act in, one episode at a time. Agents that have an observation act at once (a parallel game);
 * a turn-based game observes one agent at a time. Everything random comes from `seed`.
 *
 * The rollout loop calls `reset`, then `step` until no observation is left, then `reset` again or `close`.
 */
export interface Environment<Task = unknown> {
  readonly specificationVersion: "v1";
  readonly spec: EnvironmentSpec;
  reset(options: { readonly task: Task; readonly seed: number; readonly signal?: AbortSignal }): Promise<Observations>;
  step(actions: Readonly<Record<AgentId, Action>>, options?: { readonly signal?: AbortSignal }): Promise<StepResult>;
  /** A second environment in the same state, for tree rollouts. Optional: a deterministic one can be replayed. */
  fork?(): Promise<Environment<Task>>;
  /** The state, for traces and debugging. */
  state?(): Json;
  /** Frees what the instance holds. Calling it twice is harmless. */
  close(): Promise<void>;
}

/** Makes as many instances of an environment as a rollout needs. */
export interface EnvironmentFactory<Task = unknown> {
  readonly specificationVersion: "v1";
  readonly spec: EnvironmentSpec;
  create(): Promise<Environment<Task>>;
  /** Rewards that need all episodes of a group at once; they are added to what the episodes earned. */
  scoreGroup?(
    group: readonly Episode[],
    options: { readonly signal?: AbortSignal },
  ): Promise<Readonly<Record<string, Readonly<Record<AgentId, Reward>>>>>;
}

/**
 * What an expert would send, turn by turn, for supervised training and tests: the text of the message of each agent that
 * acts, or the message itself if it calls tools.
 */
export type Demonstration = readonly Readonly<Record<AgentId, string | Message>>[];

/** An environment with its tasks: what a registry holds, what a config names, what a package exports. */
export interface EnvironmentDefinition<Task = unknown> extends EnvironmentFactory<Task> {
  /** The splits there are, such as `["train", "test"]`. */
  readonly splits: readonly string[];
  /** The tasks of one split; `train[:200]` takes a slice of it. */
  tasks(split: string, options?: { readonly signal?: AbortSignal }): Promise<Taskset<Task>>;
  /**
   * How an expert solves a task, where that is known. `seed` is what the environment is reset with, for an episode that
   * the task alone does not settle (who has which role); `member` the number of the episode within its group, where
   * experts of a group differ (a better and a worse answer). Both are 0 where they are not given.
   */
  demonstrate?(task: Task, options?: { readonly seed: number; readonly member?: number }): Demonstration | undefined;
  /** Where it is made of several environments: the one that a task of this id belongs to, and its name among them. */
  partOf?(taskId: string): { readonly name: string; readonly spec: EnvironmentSpec } | undefined;
}
