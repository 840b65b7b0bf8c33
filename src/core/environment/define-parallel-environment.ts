import type { Action } from "../../contract/action.ts";
import type { Demonstration, EnvironmentDefinition, EnvironmentSpec, Observation } from "../../contract/environment.ts";
import type { Json } from "../../contract/json.ts";
import type { Message, ToolSpec } from "../../contract/message.ts";
import type { Prompt } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { Random } from "../random/random.ts";
import { ParallelEnvironment, resetRandom } from "./parallel-environment.ts";
import { loadTasks, type TaskSource } from "./task-source.ts";
import { validatedParallelDefinition } from "./validated-definition.ts";

/** A prompt for each agent that is to act. */
export type Prompts<Agent extends string> = Readonly<Partial<Record<Agent, Prompt>>>;

/** What `reset` is given. Everything random must come from `random`: it is seeded by task and rollout. */
export interface ResetContext<Task, Opened = undefined> {
  readonly task: Task;
  readonly random: Random;
  /** What `open` gave this instance. */
  readonly opened: Opened;
  readonly signal?: AbortSignal;
}

/** What `reset` answers: the first prompt of each agent, with the episode's state where there is one. */
export type ParallelResetOutcome<Agent extends string, State> =
  | Prompts<Agent>
  | { readonly prompts: Prompts<Agent>; readonly state: State };

/** What `demonstrate` is given beside the task. */
export interface DemonstrationContext {
  /** The one that `reset` is given in the same episode, from its beginning. */
  readonly random: Random;
  /** The number of the episode within its group, from 0. */
  readonly member: number;
}

/** What `step` is given. `turn` counts from 0. */
export interface ParallelStepContext<Agent extends string, Task, State, Opened = undefined> {
  readonly task: Task;
  readonly state: State;
  /** The actions of the agents that had a prompt. */
  readonly actions: Readonly<Partial<Record<Agent, Action>>>;
  /** The text of each agent's message, reasoning left out; empty for an agent that had no prompt. */
  readonly texts: Readonly<Record<Agent, string>>;
  readonly turn: number;
  readonly random: Random;
  readonly opened: Opened;
  readonly signal?: AbortSignal;
}

/** What `step` answers. */
export interface ParallelStepOutcome<Agent extends string, State> {
  /** What every agent earns: the joint reward of a team. */
  readonly reward?: number | Reward;
  /** The named parts of a joint reward given as a number. Alone, their sum is the reward. */
  readonly components?: Readonly<Record<string, number>>;
  /** What single agents earn, instead of a joint reward. */
  readonly rewards?: Readonly<Partial<Record<Agent, number | Reward>>>;
  /** What agents see next. Those without a reply do not act in the next turn. */
  readonly replies?: Prompts<Agent>;
  /** `replace`: a reply begins the conversation anew instead of going on with it. `append` by default. */
  readonly context?: Observation["context"];
  /** Ends the episode. By default it ends when there is no reply. */
  readonly done?: boolean;
  /** Replaces the state; absent, the state stays (and may have been changed in place). */
  readonly state?: State;
  /** Whether the answers are right together, apart from their rewards; needs `statesCorrect` in the definition. */
  readonly correct?: boolean;
  readonly info?: Json;
}

/** What the author of an environment says of it, for one agent as for several. */
export interface DefinitionBase<Task, Opened extends AsyncDisposable | undefined> {
  readonly id: string;
  readonly description?: string;
  /** A list, a taskset, or a function from the name of a split to either; pass its signal on to what downloads. */
  readonly tasks: TaskSource<Task>;
  /** The splits there are. By default `["train"]`, and `["train", "test"]` where `tasks` is a function. */
  readonly splits?: readonly string[];
  /** Steps until an episode that goes on is truncated; 1 by default. */
  readonly maxTurns?: number;
  /** Least and greatest total reward of an agent over an episode; [0, 1] by default. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  /** False for a world that `random` and the actions do not determine (a judge, a network); true by default. */
  readonly deterministic?: boolean;
  /**
   * True for an environment whose steps say whether an answer is right, by `correct`: accuracy and pass@k then count that
   * and do not depend on rewards. False by default: who earns the top of `rewardRange` is right.
   */
  readonly statesCorrect?: boolean;
  /**
   * Called for each instance: what it holds until it is closed, such as a sandbox or a connection. `reset` and `step`
   * get it as `opened`; it is disposed of when the instance closes. What it rejects with fails the episode.
   */
  readonly open?: () => Promise<Opened>;
}

/** An environment of several agents as its author writes it: functions of one message from each. */
export interface ParallelDefinition<
  Agent extends string,
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
> extends DefinitionBase<Task, Opened> {
  /** Every agent, in a fixed order. */
  readonly agents: readonly Agent[];
  /**
   * The tools that models see. `step` answers their calls. A function if the tools depend on what `open` returns.
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
  /** As in {@link SingleAgentDefinition}. */
  readonly fork?: (state: NoInfer<State>) => NoInfer<State> | Promise<NoInfer<State>>;
  /**
   * The answers of an expert, one record a turn with an answer of each agent that acts in it; undefined if none is
   * known.
   */
  readonly demonstrate?: (
    task: Task,
    context: DemonstrationContext,
  ) => readonly Readonly<Partial<Record<NoInfer<Agent>, string | Message>>>[] | undefined;
}

/**
 * An environment for agents that act at once, from two functions. `reset` gives a prompt to each agent, `step` judges
 * their answers together and replies to each; no agent sees another's answer unless a reply tells it. Where only some
 * agents get a prompt, only they act in that turn. Without a reply the episode is over.
 *
 * Splits that do not exist throw `data.out-of-range`. What `reset` or `step` throws fails the episode that it
 * happened in and no other, and so does what they should not return. Throws `environment.contract` for a definition that
 * lacks a function or has a key that nothing reads.
 */
export function defineParallelEnvironment<
  const Agent extends string,
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
>(given: ParallelDefinition<Agent, Task, State, Opened>): EnvironmentDefinition<Task> {
  const definition = validatedParallelDefinition(given);
  const { id, agents, demonstrate } = definition;
  const spec: EnvironmentSpec = {
    id,
    agents,
    maxTurns: definition.maxTurns ?? 1,
    rewardRange: definition.rewardRange ?? [0, 1],
    deterministic: definition.deterministic ?? true,
    ...(definition.tools === undefined || typeof definition.tools === "function" ? {} : { tools: definition.tools }),
    ...(definition.description === undefined ? {} : { description: definition.description }),
    ...(definition.statesCorrect === true ? { statesCorrect: true } : {}),
  };
  return {
    specificationVersion: "v1",
    spec,
    ...loadTasks({ id, source: definition.tasks, splits: definition.splits }),
    create: async () => new ParallelEnvironment({ spec, definition, opened: await definition.open?.() }),
    ...(demonstrate === undefined
      ? {}
      : {
          demonstrate: (task: Task, { seed, member = 0 } = { seed: 0 }) =>
            demonstrate(task, { random: resetRandom(seed), member }) as Demonstration | undefined,
        }),
  };
}
