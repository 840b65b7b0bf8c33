import type { Action, AgentId } from "./action.ts";
import type { Episode } from "./episode.ts";
import type { LyceumError } from "./errors/index.ts";
import type { Json, JsonObject } from "./json.ts";
import type { InstanceJudge, JudgeDeclaration, JudgeUsage } from "./judge.ts";
import type { Message, ToolSpec } from "./message.ts";
import type { Reward } from "./reward.ts";
import type { Taskset } from "./taskset.ts";

/** The description of an environment, available before any episode. */
export interface EnvironmentSpec {
  /** The registered name, such as `"math"`. */
  readonly id: string;
  /** All agents that can act, in a fixed order. */
  readonly agents: readonly AgentId[];
  /** The maximum number of steps of an episode. */
  readonly maxTurns: number;
  /** The lowest and the highest total reward of an agent in one episode. */
  readonly rewardRange: readonly [minimum: number, maximum: number];
  /**
   * True if the same task, seed and actions always give the same observations and rewards. The rollout loop can then
   * replay actions where it would otherwise need `fork`.
   */
  readonly deterministic: boolean;
  readonly tools?: readonly ToolSpec[];
  readonly description?: string;
  /** True if the steps state whether the answer is correct (`StepResult.correct`), independent of the reward. */
  readonly statesCorrect?: boolean;
  /** The specs of the environments that a mixture combines, by their names there. */
  readonly environments?: Readonly<Record<string, EnvironmentSpec>>;
}

/**
 * The messages that an agent receives before it acts: only those since its last action. The rollout loop adds the
 * agent's own message. `append` adds to the conversation. `replace` starts a new one.
 *
 * @example
 * import { type Observation, textMessage } from "lyceum";
 * const first: Observation = { messages: [textMessage("user", "What is 2 + 2?")], context: "append" };
 * first.messages.length; // => 1
 */
export interface Observation {
  readonly messages: readonly Message[];
  readonly context: "append" | "replace";
  readonly tools?: readonly ToolSpec[];
  /** Variables of the model's chat template for this turn, in addition to those of the model, such as `enable_thinking`. */
  readonly templateVariables?: JsonObject;
  readonly info?: Json;
}

/**
 * One observation for each agent that must act now, and for no other. Empty if the episode has ended.
 *
 * @example
 * import { type Observations, textMessage } from "lyceum";
 * const whiteMoves: Observations = { white: { messages: [textMessage("user", "Your move.")], context: "append" } };
 * Object.keys(whiteMoves); // => ["white"]
 */
export type Observations = Readonly<Record<AgentId, Observation>>;

/**
 * The result of a step for one agent. `terminated`: the episode ended by the rules of the environment. `truncated`: a
 * limit cut the episode off, so a value estimate bootstraps from the last state.
 */
export interface AgentStep {
  readonly reward?: Reward;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/**
 * The result of a step. `agents` has an entry for each agent that acted, and can have entries for other agents.
 *
 * @example
 * import { scored, type StepResult } from "lyceum";
 * const last: StepResult = {
 *   observations: {},
 *   agents: { agent: { reward: scored(1), terminated: true, truncated: false } },
 * };
 * Object.keys(last.observations); // => []
 */
export interface StepResult {
  readonly observations: Observations;
  readonly agents: Readonly<Record<AgentId, AgentStep>>;
  /**
   * True if the answer of this step solves the task, independent of the reward. The last step that sets it decides for
   * the episode.
   */
  readonly correct?: boolean;
  readonly info?: Json;
  /** The requests to judge models in this step. Absent if there are none. */
  readonly judge?: JudgeUsage;
}

/**
 * A program that asks agents for actions and rewards them. An instance plays one episode at a time. All agents with an
 * observation act in the same step, as in a parallel game. A turn-based game gives one agent an observation per step.
 * All randomness must derive from `seed`.
 *
 * The rollout loop calls `reset`, then `step` until there are no more observations, then `reset` again or `close`.
 *
 * @example
 * import { defineEnvironment, type Environment, textMessage } from "lyceum";
 * const definition = defineEnvironment({ id: "echo", tasks: ["a"], reset: ({ task }) => task, step: () => ({ reward: 1 }) });
 * const environment: Environment<string> = await definition.create();
 * await environment.reset({ task: "a", seed: 1 });
 * const { agents } = await environment.step({ agent: { message: textMessage("assistant", "a"), finish: "stop" } });
 * agents.agent?.terminated; // => true
 * await environment.close();
 */
export interface Environment<Task = unknown> {
  readonly specificationVersion: "v1";
  readonly spec: EnvironmentSpec;
  reset(options: { readonly task: Task; readonly seed: number; readonly signal?: AbortSignal }): Promise<Observations>;
  step(actions: Readonly<Record<AgentId, Action>>, options?: { readonly signal?: AbortSignal }): Promise<StepResult>;
  /** Returns a second environment in the same state, for tree rollouts. Not needed if `spec.deterministic` is true. */
  fork?(): Promise<Environment<Task>>;
  /** Returns the state, for traces and debugging. */
  state?(): Json;
  /** Frees the resources of the instance. A second call has no effect. */
  close(): Promise<void>;
}

/**
 * Creates instances of an environment, as many as a rollout needs.
 *
 * @example
 * import type { EnvironmentFactory } from "lyceum";
 * import { numberGuessingEnvironment } from "lyceum/environments";
 * const isSingleAgent = ({ spec }: EnvironmentFactory): boolean => spec.agents.length === 1;
 * isSingleAgent(numberGuessingEnvironment()); // => true
 */
export interface EnvironmentFactory<Task = unknown> {
  readonly specificationVersion: "v1";
  readonly spec: EnvironmentSpec;
  /** Creates an instance. `judge` is the judge of an environment whose judges have no model of their own. */
  create(options?: { readonly judge?: InstanceJudge }): Promise<Environment<Task>>;
  /**
   * Returns rewards that depend on all episodes of a group, by episode id and agent. They are added to the rewards of
   * the episodes.
   */
  scoreGroup?(
    group: readonly Episode[],
    options: { readonly signal?: AbortSignal },
  ): Promise<Readonly<Record<string, Readonly<Record<AgentId, Reward>>>>>;
}

/**
 * The actions of an expert, turn by turn, for supervised training and tests. Each turn has a text for each agent that
 * acts, or a message if it calls tools.
 *
 * @example
 * import type { Demonstration } from "lyceum";
 * const expert: Demonstration = [{ agent: "5" }, { agent: "7" }];
 * expert.length; // => 2
 */
export type Demonstration = readonly Readonly<Record<AgentId, string | Message>>[];

/**
 * A task as a folder in Harbor's format (https://harborframework.com): an instruction, an image, tests and, optionally,
 * a solution. It is a copy of a folder, or has files of its own. `name` is the path of the folder within an export.
 *
 * @example
 * import type { TaskFolder } from "lyceum/environments";
 * const folder: TaskFolder = { name: "answer", files: { "instruction.md": "Write 42 to /app/answer.txt." } };
 * folder.name; // => "answer"
 */
export type TaskFolder =
  | { readonly name: string; readonly copyOf: string }
  | { readonly name: string; readonly files: Readonly<Record<string, string>> };

/** How the tasks of a split are loaded. */
export interface TaskLoading {
  readonly signal?: AbortSignal | undefined;
  /**
   * Present if malformed rows are left out. An environment that reads all rows while it loads them calls it with the
   * `data.malformed` error of each. Others may throw the error when the task is read.
   */
  readonly onInvalid?: ((error: LyceumError) => void) | undefined;
}

/**
 * An environment with its tasks. Registries contain definitions, configs name them and packages export them.
 *
 * @example
 * import type { EnvironmentDefinition } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment: EnvironmentDefinition = mathEnvironment({ tasks: "arithmetic" });
 * environment.splits.includes("test"); // => true
 */
export interface EnvironmentDefinition<Task = unknown> extends EnvironmentFactory<Task> {
  /** The names of the splits, such as `["train", "test"]`. */
  readonly splits: readonly string[];
  /** Returns the tasks of a split. `train[:200]` selects a slice of it. */
  tasks(split: string, options?: TaskLoading): Promise<Taskset<Task>>;
  /**
   * Returns the actions of an expert for a task. Returns undefined if there is no known solution. `seed` is the seed of
   * the environment's reset, for episodes that depend on more than the task (such as who has which role). `sampleIndex`
   * is the index of the episode in its group, for experts that differ within a group (such as a better and a worse
   * answer). Both are 0 by default.
   */
  demonstrate?(
    task: Task,
    options?: { readonly seed: number; readonly sampleIndex?: number },
  ): Demonstration | undefined;
  /**
   * True if the demonstrations of a group are a better and a worse answer, as in a file of preferences, and other
   * answers earn nothing. An algorithm that ranks the policy's own answers refuses such an environment.
   */
  readonly demonstratesPairs?: boolean;
  /**
   * Returns a task as a folder for other programs, whose tests give the environment's rewards. `image` is the base
   * image of the container, if the environment has none. Absent if the rewards need this environment. Throws
   * `config.invalid` for a task or options that cannot be exported.
   */
  taskFolder?(task: Task, options: { readonly image?: string }): Promise<TaskFolder>;
  /**
   * Returns the group of a task, such as its topic or difficulty: a short text, or undefined. Evaluations, the metrics
   * of a training and a curriculum compare groups. `math/algebra` is also part of the group `math`. Called once for each
   * task that is played. Must be synchronous.
   */
  groupOf?(task: Task): string | undefined;
  /** Present if models judge the answers: which model, and whether it is opened. `withJudge` opens one. */
  readonly judge?: JudgeDeclaration | undefined;
  /** Present if the environment combines several: returns the one that a task id belongs to, and its name there. */
  environmentOf?(taskId: string): { readonly name: string; readonly spec: EnvironmentSpec } | undefined;
}
