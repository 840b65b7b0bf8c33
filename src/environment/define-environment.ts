import { unknownNameError } from "../errors/index.ts";
import type { Json } from "../json.ts";
import type { ToolSpec } from "../message/message.ts";
import type { Random } from "../random/random.ts";
import { memoryTaskset } from "../taskset/memory-taskset.ts";
import { sliceTaskset } from "../taskset/slice-taskset.ts";
import { parseSplit } from "../taskset/split.ts";
import type { Taskset } from "../taskset/taskset.ts";
import type { Action, Demonstration, EnvironmentDefinition, EnvironmentSpec } from "./environment.ts";
import type { Prompt } from "./prompt.ts";
import type { Reward } from "./reward.ts";
import { SingleAgentEnvironment, singleAgent } from "./single-agent-environment.ts";

/** What `reset` is given. Everything random must come from `random`: it is seeded by task and rollout. */
export interface ResetContext<Task> {
  readonly task: Task;
  readonly random: Random;
  readonly signal?: AbortSignal;
}

/** What `reset` answers: the first prompt, with the episode's state where there is one. */
export type ResetOutcome<State> = Prompt | { readonly messages: Prompt; readonly state: State };

/** What `step` is given. `turn` counts from 0. */
export interface StepContext<Task, State> {
  readonly task: Task;
  readonly state: State;
  readonly action: Action;
  /** The text of the action's message, reasoning left out. */
  readonly text: string;
  readonly turn: number;
  readonly random: Random;
  readonly signal?: AbortSignal;
}

/** What `step` answers. */
export interface StepOutcome<State> {
  /** The worth of this action; absent when nothing is known yet. */
  readonly reward?: number | Reward;
  /** The named parts of a reward given as a number. Alone, their sum is the reward. */
  readonly components?: Readonly<Record<string, number>>;
  /** What the agent sees next. */
  readonly reply?: Prompt;
  /** Ends the episode. By default it ends when there is no reply. */
  readonly done?: boolean;
  /** Replaces the state; absent, the state stays (and may have been changed in place). */
  readonly state?: State;
  readonly info?: Json;
}

/** A single-agent environment as its author writes it: functions of one message. */
export interface SingleAgentDefinition<Task, State = undefined> {
  readonly id: string;
  readonly description?: string;
  /** A list, a taskset, or a function from the name of a split to either; pass its signal on to what downloads. */
  readonly tasks:
    | TaskSource<Task>
    | ((split: string, options: { readonly signal?: AbortSignal }) => TaskSource<Task> | Promise<TaskSource<Task>>);
  /** The splits there are. By default `["train"]`, and `["train", "test"]` where `tasks` is a function. */
  readonly splits?: readonly string[];
  /** Steps until an episode that goes on is truncated; 1 by default. */
  readonly maxTurns?: number;
  /** Least and greatest total reward of an episode; [0, 1] by default. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  /** False for a world that `random` and the actions do not determine (a judge, a network); true by default. */
  readonly deterministic?: boolean;
  readonly tools?: readonly ToolSpec[];
  readonly reset: (context: ResetContext<Task>) => ResetOutcome<State> | Promise<ResetOutcome<State>>;
  readonly step: (
    context: StepContext<Task, State>,
  ) => StepOutcome<NoInfer<State>> | Promise<StepOutcome<NoInfer<State>>>;
  /** The answers of an expert, one a turn; undefined where none is known. */
  readonly demonstrate?: (task: Task) => string | readonly string[] | undefined;
}

type TaskSource<Task> = readonly Task[] | Taskset<Task>;

/**
 * An environment for one agent from two functions. `reset` gives the first prompt, `step` judges an answer and says
 * what comes next; without a reply the episode is over. The agent is called `"agent"`.
 *
 * Splits that do not exist throw `data.out-of-range`. What `reset` or `step` throws fails the episode that it
 * happened in and no other.
 */
export function defineEnvironment<Task, State = undefined>(
  definition: SingleAgentDefinition<Task, State>,
): EnvironmentDefinition<Task> {
  const { id, tasks, demonstrate } = definition;
  const splits = definition.splits ?? (typeof tasks === "function" ? ["train", "test"] : ["train"]);
  const spec: EnvironmentSpec = {
    id,
    agents: [singleAgent],
    maxTurns: definition.maxTurns ?? 1,
    rewardRange: definition.rewardRange ?? [0, 1],
    deterministic: definition.deterministic ?? true,
    ...(definition.tools === undefined ? {} : { tools: definition.tools }),
    ...(definition.description === undefined ? {} : { description: definition.description }),
  };
  return {
    specificationVersion: "v1",
    spec,
    splits,
    create: async () => new SingleAgentEnvironment(spec, definition),
    tasks: async (text, options = {}) => {
      options.signal?.throwIfAborted();
      const { name, slice } = parseSplit(text);
      if (!splits.includes(name)) {
        throw unknownNameError({ kind: `split of "${id}"`, name, known: splits, code: "data.out-of-range" });
      }
      const source = typeof tasks === "function" ? await tasks(name, options) : tasks;
      const taskset = isTaskset(source) ? source : memoryTaskset(`${id}/${name}`, source);
      return slice === undefined ? taskset : sliceTaskset(taskset, slice);
    },
    ...(demonstrate === undefined ? {} : { demonstrate: (task: Task) => demonstration(demonstrate(task)) }),
  };
}

function isTaskset<Task>(source: TaskSource<Task>): source is Taskset<Task> {
  return !Array.isArray(source);
}

function demonstration(answers: string | readonly string[] | undefined): Demonstration | undefined {
  if (answers === undefined) return undefined;
  return (typeof answers === "string" ? [answers] : answers).map((text) => ({ [singleAgent]: text }));
}
