import type { Action } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observation } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";
import { type Prompt, promptMessages } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { StepJudge } from "../judge/counted-judge.ts";
import type { Random } from "../random/random.ts";
import type { Tool, ToolRecord } from "../tools/tool.ts";
import { defaultToolLimits, defaultToolTurns, type ToolLimits } from "../tools/tool-limits.ts";
import { type ToolProtocol, withTaggedCalls, withToolInstruction } from "../tools/tool-message.ts";
import { createToolSet, type ToolSet, type ToolSource } from "../tools/tool-set.ts";
import { withoutUndefined } from "../without-undefined.ts";
import {
  type DefinitionBase,
  type DemonstrationContext,
  defineParallelEnvironment,
  type ParallelDefinition,
  type ParallelStepOutcome,
  type ResetContext,
} from "./define-parallel-environment.ts";
import { type AfterCalls, type CallRecord, ToolSteps } from "./tool-steps.ts";
import { validatedDefinition } from "./validated-definition.ts";

/**
 * The result of `reset`: the first prompt, with the state of the episode if there is one.
 *
 * @example
 * import type { ResetOutcome } from "lyceum";
 * const first: ResetOutcome<{ secret: number }> = { prompt: "Guess a number from 1 to 9.", state: { secret: 4 } };
 * first.state.secret; // => 4
 */
export type ResetOutcome<State> = Prompt | { readonly prompt: Prompt; readonly state: State };

/**
 * The context of `step`. `turn` counts from 0.
 *
 * @example
 * import type { StepContext } from "lyceum";
 * const isRight = ({ task, text }: StepContext<{ answer: string }, undefined>): boolean => text.trim() === task.answer;
 */
export interface StepContext<Task, State, Opened = undefined> {
  /** The task of the taskset. Other episodes use the same object: do not change it. */
  readonly task: Task;
  /** The object that `reset` or an earlier step returned. It is not a copy, and may be changed in place. */
  readonly state: State;
  readonly action: Action;
  /** The text of the action's message, without reasoning and tagged calls. */
  readonly text: string;
  /** All tool calls of the episode so far, including those of this message. Empty without `tools`. */
  readonly calls: readonly CallRecord[];
  readonly turn: number;
  readonly random: Random;
  /** The value that `open` returned for this instance. */
  readonly opened: Opened;
  /** The judge model of the environment. Present if it lists judges. Pass the context to their `score`. */
  readonly judge?: StepJudge;
  readonly signal?: AbortSignal;
}

/**
 * The result of `step`.
 *
 * @example
 * import type { StepOutcome } from "lyceum";
 * const wrong: StepOutcome<undefined> = { components: { correct: 0, polite: 0.1 }, reply: "No. Try again." };
 * wrong.reply; // => "No. Try again."
 */
export interface StepOutcome<State> {
  /** The reward of this action. Absent if it is not known yet. */
  readonly reward?: number | Reward;
  /** The named components of the reward. Without `reward`, their sum is the reward. */
  readonly components?: Readonly<Record<string, number>>;
  /** The next messages for the agent. */
  readonly reply?: Prompt;
  /** `append` (default): the reply continues the conversation. `replace`: the reply starts a new conversation. */
  readonly context?: Observation["context"];
  /** Ends the episode. By default it ends when there is no reply. */
  readonly done?: boolean;
  /** The new state. If absent, the old state is kept; `step` may have changed it in place. */
  readonly state?: State;
  /** True if the answer is right, independent of its reward. Requires `statesCorrect` in the definition. */
  readonly correct?: boolean;
  readonly info?: Json;
}

/** The definition of an environment for one agent. */
export interface SingleAgentDefinition<
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
  // biome-ignore lint/suspicious/noExplicitAny: without inference, a tool's input is not checked.
  Schemas = any,
> extends DefinitionBase<Task, Opened> {
  readonly reset: (context: ResetContext<Task, NoInfer<Opened>>) => ResetOutcome<State> | Promise<ResetOutcome<State>>;
  /**
   * The tools that the model may call, by name. Put this key after `reset`, so that TypeScript infers the state's type.
   * The environment runs the calls and replies with their results. `step` receives a message without calls, the message
   * with which a tool ends the episode, and the message of the last turn. Pass several records, or a function of the
   * value that `open` returned, for external tools, such as those of a server.
   */
  readonly tools?:
    | { readonly [Name in keyof Schemas]: Tool<Schemas[Name], NoInfer<State>, NoInfer<Task>, NoInfer<Opened>> }
    | readonly ToolRecord[]
    | ((opened: NoInfer<Opened>) => ToolSource);
  /**
   * How the model receives the list of tools. `native` (default): through its chat template or its server. `tagged`: in
   * the system message, for models whose chat template does not support tools.
   */
  readonly toolProtocol?: ToolProtocol;
  readonly toolLimits?: ToolLimits;
  /**
   * Returns text that is added after the results of tool calls, such as the number of turns left. Nothing by default.
   */
  readonly afterCalls?: AfterCalls;
  readonly step: (
    context: StepContext<Task, State, NoInfer<Opened>>,
  ) => StepOutcome<NoInfer<State>> | Promise<StepOutcome<NoInfer<State>>>;
  /**
   * Copies the state for a second instance in the same state; `open` is called again for that instance. Adds `fork` to
   * the instances. Use `structuredClone` for plain data. Return the state itself if it is never changed in place. A
   * joint rollout of several turns requires it if the environment is not deterministic. A deterministic environment can
   * be replayed.
   */
  readonly fork?: (state: NoInfer<State>) => NoInfer<State> | Promise<NoInfer<State>>;
  /**
   * Returns the messages of an expert, one per turn, or undefined if none are known. Use `callMessage` for
   * messages with tool calls.
   */
  readonly demonstrate?: (
    task: Task,
    context: DemonstrationContext,
  ) => string | Message | readonly (string | Message)[] | undefined;
}

/**
 * Creates an environment for one agent from two functions. `reset` returns the first prompt. `step` scores an answer
 * and returns the next prompt. The episode ends if there is no reply. The agent's id is `"agent"`. With `tools`, the
 * environment runs the tool calls of a message and replies with their results. If a tool throws, the model receives the
 * error as the result, and the info of the step lists it under `toolErrors` with its file and line.
 *
 * Throws `config.invalid` for tools that cannot be used. Throws `environment.contract` if a function is missing or a
 * key is unknown. `tasks` throws `data.out-of-range` for an unknown split. If `reset` or `step` throws or returns an
 * invalid value, only the current episode fails.
 *
 * @example
 * import { defineEnvironment } from "lyceum";
 * export const environment = defineEnvironment({
 *   id: "guess",
 *   tasks: [{ secret: 3 }, { secret: 8 }],
 *   maxTurns: 4,
 *   reset: () => "Guess a number from 1 to 9.",
 *   step: ({ task, text }) => {
 *     if (Number(text) === task.secret) return { reward: 1 };
 *     return { reward: 0, reply: Number(text) < task.secret ? "Higher." : "Lower." };
 *   },
 *   demonstrate: ({ secret }) => String(secret),
 * });
 * environment.spec.maxTurns; // => 4
 */
export function defineEnvironment<
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
  // biome-ignore lint/suspicious/noExplicitAny: without inference, a tool's input is not checked.
  Schemas = any,
>(definition: SingleAgentDefinition<Task, State, Opened, Schemas>): EnvironmentDefinition<Task> {
  const { tools, ...rest } = validatedDefinition(definition);
  return tools === undefined ? plainEnvironment(rest) : toolEnvironment(rest, tools);
}

type Definition<Task, State, Opened extends AsyncDisposable | undefined> = Omit<
  SingleAgentDefinition<Task, State, Opened>,
  "tools"
>;

function plainEnvironment<Task, State, Opened extends AsyncDisposable | undefined>(
  definition: Definition<Task, State, Opened>,
): EnvironmentDefinition<Task> {
  const { reset, step, demonstrate, toolProtocol: _, toolLimits: __, afterCalls: ___, ...base } = definition;
  return defineParallelEnvironment<"agent", Task, State, Opened>({
    ...base,
    agents: ["agent"],
    reset: async (context) => {
      const { prompt, state } = begun(await reset(context));
      return { prompts: { agent: prompt }, state };
    },
    step: async ({ actions, texts, ...context }) =>
      replied(await step({ ...context, action: actions.agent!, text: texts.agent, calls: [] })),
    ...demonstrated(demonstrate, (message) => message),
  });
}

/** The state of an episode with tools. */
interface ToolState<State> {
  readonly state: State;
  readonly calls: readonly CallRecord[];
}

function toolEnvironment<Task, State, Opened extends AsyncDisposable | undefined>(
  definition: Definition<Task, State, Opened>,
  source: ToolSource | ((opened: Opened) => ToolSource),
): EnvironmentDefinition<Task> {
  const { reset, step, fork, demonstrate, toolProtocol = "native", toolLimits, afterCalls, ...base } = definition;
  const { id, maxTurns = defaultToolTurns } = base;
  const limits = checkedLimits({ ...defaultToolLimits, ...withoutUndefined(toolLimits ?? {}) });
  const toolsOf = toolSets(source);
  const steps = new ToolSteps<Task, State, Opened>({ environment: id, maxTurns, limits, afterCalls, step });
  const native = toolProtocol === "native";
  return defineParallelEnvironment<"agent", Task, ToolState<State>, Opened>({
    ...base,
    maxTurns,
    agents: ["agent"],
    ...(native ? { tools: typeof source === "function" ? (opened) => toolsOf(opened).specs : toolsOf().specs } : {}),
    reset: async (context) => {
      const { prompt, state } = begun(await reset(context));
      const shown = native ? prompt : withToolInstruction(promptMessages(prompt), toolsOf(context.opened).specs);
      return { prompts: { agent: shown }, state: { state, calls: [] } };
    },
    step: async ({ actions, texts, state: { state, calls: earlier }, ...context }) => {
      const { outcome, calls } = await steps.take(
        { ...context, state, action: actions.agent!, text: texts.agent },
        { tools: toolsOf(context.opened), earlier },
      );
      return replied({ ...outcome, state: { state: outcome.state ?? state, calls } });
    },
    fork: fork && (async ({ state, calls }) => ({ state: await fork(state), calls })),
    ...demonstrated(demonstrate, native ? (message) => message : withTaggedCalls),
  });
}

/** Returns the tools of an instance. A function is called once for each value that `open` returned. */
function toolSets<Opened extends AsyncDisposable | undefined>(
  source: ToolSource | ((opened: Opened) => ToolSource),
): (opened?: Opened) => ToolSet {
  if (typeof source !== "function") {
    const tools = createToolSet(source);
    return () => tools;
  }
  const read = new WeakMap<object, ToolSet>();
  return (opened) => {
    const known = opened === undefined ? undefined : read.get(opened);
    if (known !== undefined) return known;
    const tools = createToolSet(source(opened as Opened));
    if (opened !== undefined) read.set(opened, tools);
    return tools;
  };
}

function checkedLimits(limits: Required<ToolLimits>): Required<ToolLimits> {
  for (const [name, value] of Object.entries(limits)) {
    if (value > 0) continue;
    throw new LyceumError({
      code: "config.invalid",
      message: `toolLimits.${name} is ${value}.`,
      hint: "Give a number above 0, or leave it out.",
    });
  }
  return limits;
}

function begun<State>(outcome: ResetOutcome<State>): { readonly prompt: Prompt; readonly state: State } {
  return typeof outcome === "object" && "prompt" in outcome ? outcome : { prompt: outcome, state: undefined as State };
}

function replied<State>({ reply, ...outcome }: StepOutcome<State>): ParallelStepOutcome<"agent", State> {
  return reply === undefined ? outcome : { ...outcome, replies: { agent: reply } };
}

function demonstrated<Task>(
  demonstrate: SingleAgentDefinition<Task>["demonstrate"],
  written: (message: Message) => Message,
): Pick<ParallelDefinition<"agent", Task>, "demonstrate"> {
  if (demonstrate === undefined) return {};
  return {
    demonstrate: (task, context) => {
      const answers = demonstrate(task, context);
      if (answers === undefined) return undefined;
      const turns = typeof answers === "string" || !isList(answers) ? [answers] : answers;
      return turns.map((answer) => ({ agent: typeof answer === "string" ? answer : written(answer) }));
    },
  };
}

function isList(answers: Message | readonly (string | Message)[]): answers is readonly (string | Message)[] {
  return Array.isArray(answers);
}
