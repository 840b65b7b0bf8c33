import type { Action } from "../../contract/action.ts";
import type { Demonstration, EnvironmentDefinition, EnvironmentSpec, Observation } from "../../contract/environment.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import type { Message, ToolSpec } from "../../contract/message.ts";
import type { Prompt } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { StepJudge } from "../judge/counted-judge.ts";
import type { JudgeListing } from "../judge/judge.ts";
import { missingJudge } from "../judge/judge-errors.ts";
import { judgeDeclaration } from "../judge/with-judge.ts";
import type { Random } from "../random/random.ts";
import { ParallelEnvironment, resetRandom } from "./parallel-environment.ts";
import { loadTasks, type TaskSource } from "./task-source.ts";
import { validatedParallelDefinition } from "./validated-definition.ts";

/** The prompts of the agents that act next. */
export type Prompts<Agent extends string> = Readonly<Partial<Record<Agent, Prompt>>>;

/**
 * The context of `reset`. Draw all random choices from `random`: its seed depends on the task and the rollout.
 *
 * @example
 * import { createRandom, type ResetContext } from "lyceum";
 * const prompt = ({ task, random }: ResetContext<string[]>): string => random.shuffle(task).join(" ");
 * prompt({ task: ["one"], random: createRandom(1), opened: undefined }); // => "one"
 */
export interface ResetContext<Task, Opened = undefined> {
  readonly task: Task;
  readonly random: Random;
  /** The value that `open` returned for this instance. */
  readonly opened: Opened;
  readonly signal?: AbortSignal;
}

/**
 * The result of `reset`: the first prompt of each agent, with the state of the episode if there is one. All agents share
 * the state. It belongs to one episode of one instance: create new objects for it.
 */
export type ParallelResetOutcome<Agent extends string, State> =
  | Prompts<Agent>
  | { readonly prompts: Prompts<Agent>; readonly state: State };

/** The second argument of `demonstrate`. */
export interface DemonstrationContext {
  /** The generator that `reset` receives in the same episode, in its initial state. */
  readonly random: Random;
  /** The index of the episode in its group, from 0. */
  readonly sampleIndex: number;
}

/** The context of `step`. `turn` counts from 0. */
export interface ParallelStepContext<Agent extends string, Task, State, Opened = undefined> {
  /** The task of the taskset. Other episodes use the same object: do not change it. */
  readonly task: Task;
  /** The object that `reset` or an earlier step returned. It is not a copy, and may be changed in place. */
  readonly state: State;
  /** The actions of the agents that had a prompt. */
  readonly actions: Readonly<Partial<Record<Agent, Action>>>;
  /** The text of each agent's message, without reasoning. Empty for an agent that had no prompt. */
  readonly texts: Readonly<Record<Agent, string>>;
  readonly turn: number;
  readonly random: Random;
  readonly opened: Opened;
  /** The judge model of the environment. Present if it lists judges. Pass the context to their `score`. */
  readonly judge?: StepJudge;
  readonly signal?: AbortSignal;
}

/** The result of `step`. */
export interface ParallelStepOutcome<Agent extends string, State> {
  /** The joint reward: every agent receives it. */
  readonly reward?: number | Reward;
  /** The named components of the joint reward. Without `reward`, their sum is the reward. */
  readonly components?: Readonly<Record<string, number>>;
  /** The rewards of single agents, instead of a joint reward. */
  readonly rewards?: Readonly<Partial<Record<Agent, number | Reward>>>;
  /** The next messages for the agents. An agent without a reply does not act in the next turn. */
  readonly replies?: Prompts<Agent>;
  /** `append` (default): a reply continues the conversation. `replace`: a reply starts a new conversation. */
  readonly context?: Observation["context"];
  /** Ends the episode. By default it ends when there is no reply. */
  readonly done?: boolean;
  /** The new state. If absent, the old state is kept; `step` may have changed it in place. */
  readonly state?: State;
  /**
   * True if the answers together are right, independent of their rewards. Requires `statesCorrect` in the definition.
   */
  readonly correct?: boolean;
  readonly info?: Json;
}

/** The part of a definition that is the same for one agent and for several. */
export interface DefinitionBase<Task, Opened extends AsyncDisposable | undefined> {
  readonly id: string;
  readonly description?: string;
  /** A list, a taskset, or a function that returns either for the name of a split. Pass its signal to downloads. */
  readonly tasks: TaskSource<Task>;
  /** The names of the splits. By default `["train"]`, and `["train", "test"]` if `tasks` is a function. */
  readonly splits?: readonly string[];
  /** The number of steps after which an episode is truncated. 1 by default. */
  readonly maxTurns?: number;
  /** The lowest and the highest total reward of an agent in an episode. [0, 1] by default. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  /**
   * False if `random` and the actions do not determine the episode, for example with a network. By default, true without
   * judges.
   */
  readonly deterministic?: boolean;
  /**
   * True if the steps say whether an answer is right, by `correct`. Accuracy and pass@k then use `correct` and not the
   * reward. False by default: an answer is right if its reward is the highest of `rewardRange`.
   */
  readonly statesCorrect?: boolean;
  /** The judges that `step` asks, so that `judge` in a config and `--judge` name their model. */
  readonly judges?: readonly JudgeListing[];
  /**
   * Returns the group of a task, such as its topic or difficulty: a short text, or undefined. Evaluations, the metrics
   * of a training and a curriculum compare groups. `math/algebra` is also part of the group `math`.
   */
  readonly groupOf?: (task: Task) => string | undefined;
  /** Returns the variables of the model's chat template for the conversations of a task, such as `enable_thinking`. */
  readonly templateVariables?: (task: Task) => JsonObject | undefined;
  /**
   * Opens a resource for each instance, such as a sandbox or a connection. `reset` and `step` receive it as `opened`.
   * It is disposed of when the instance closes. If it rejects, the episode fails.
   */
  readonly open?: () => Promise<Opened>;
}

/** The definition of an environment for several agents. */
export interface ParallelDefinition<
  Agent extends string,
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
> extends DefinitionBase<Task, Opened> {
  /** The ids of all agents, in a fixed order. */
  readonly agents: readonly Agent[];
  /**
   * The tools of the models. `step` handles the calls. Pass a function if the tools depend on the value that `open`
   * returned.
   */
  readonly tools?: readonly ToolSpec[] | ((opened: NoInfer<Opened>) => readonly ToolSpec[]);
  readonly reset: (
    context: ResetContext<Task, NoInfer<Opened>>,
  ) => ParallelResetOutcome<NoInfer<Agent>, State> | Promise<ParallelResetOutcome<NoInfer<Agent>, State>>;
  readonly step: (
    context: ParallelStepContext<NoInfer<Agent>, Task, State, NoInfer<Opened>>,
  ) =>
    | ParallelStepOutcome<NoInfer<Agent>, NoInfer<State>>
    | Promise<ParallelStepOutcome<NoInfer<Agent>, NoInfer<State>>>;
  /** Copies the state, as in {@link SingleAgentDefinition}. Nothing else copies it. */
  readonly fork?: (state: NoInfer<State>) => NoInfer<State> | Promise<NoInfer<State>>;
  /**
   * Returns the answers of an expert, one record per turn with an answer for each agent that acts. Returns undefined if
   * none are known.
   */
  readonly demonstrate?: (
    task: Task,
    context: DemonstrationContext,
  ) => readonly Readonly<Partial<Record<NoInfer<Agent>, string | Message>>>[] | undefined;
}

/**
 * Creates an environment for agents that act at the same time, from two functions. `reset` returns a prompt for each
 * agent. `step` scores the answers together and replies to each agent. An agent sees another agent's answer only if a
 * reply contains it. Only agents with a prompt act in a turn. The episode ends if there is no reply.
 *
 * Throws `environment.contract` if a function is missing or a key is unknown. `tasks` throws `data.out-of-range` for an
 * unknown split. If `reset` or `step` throws or returns an invalid value, only the current episode fails.
 *
 * @example
 * import { defineParallelEnvironment } from "lyceum";
 * // Both players earn if they say the same colour.
 * export const environment = defineParallelEnvironment({
 *   id: "same-colour",
 *   agents: ["left", "right"],
 *   tasks: ["red or blue?", "green or black?"],
 *   reset: ({ task }) => ({ left: task, right: task }),
 *   step: ({ texts }) => ({ reward: texts.left === texts.right ? 1 : 0 }),
 * });
 * environment.spec.agents; // => ["left", "right"]
 */
export function defineParallelEnvironment<
  const Agent extends string,
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
>(given: ParallelDefinition<Agent, Task, State, Opened>): EnvironmentDefinition<Task> {
  const definition = validatedParallelDefinition(given);
  const { id, agents, demonstrate } = definition;
  const judge = judgeDeclaration(id, definition.judges);
  const spec: EnvironmentSpec = {
    id,
    agents,
    maxTurns: definition.maxTurns ?? 1,
    rewardRange: definition.rewardRange ?? [0, 1],
    deterministic: definition.deterministic ?? judge === undefined,
    ...(definition.tools === undefined || typeof definition.tools === "function" ? {} : { tools: definition.tools }),
    description: definition.description,
    ...(definition.statesCorrect === true ? { statesCorrect: true } : {}),
  };
  return {
    specificationVersion: "v1",
    spec,
    ...loadTasks({ id, source: definition.tasks, splits: definition.splits }),
    ...(judge === undefined ? {} : { judge }),
    ...(definition.groupOf === undefined ? {} : { groupOf: definition.groupOf }),
    create: async (options = {}) => {
      if (judge?.required === true && options.judge?.model === undefined) throw missingJudge(id);
      const seat = judge === undefined ? undefined : (options.judge ?? {});
      return new ParallelEnvironment({ spec, definition, opened: await definition.open?.(), judge: seat });
    },
    demonstrate:
      demonstrate &&
      ((task, { seed, sampleIndex = 0 } = { seed: 0 }) =>
        demonstrate(task, { random: resetRandom(seed), sampleIndex }) as Demonstration | undefined),
  };
}
