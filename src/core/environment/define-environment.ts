import type { Action } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observation } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";
import { type Prompt, promptMessages } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { Random } from "../random/random.ts";
import { defaultToolLimits, type ToolLimits } from "../tools/call-tool.ts";
import type { Tool, ToolRecord } from "../tools/tool.ts";
import { type ToolProtocol, withTaggedCalls, withToolInstruction } from "../tools/tool-message.ts";
import { createToolSet, type ToolSet, type ToolSource } from "../tools/tool-set.ts";
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

/** What `reset` answers: the first prompt, with the episode's state where there is one. */
export type ResetOutcome<State> = Prompt | { readonly messages: Prompt; readonly state: State };

/** What `step` is given. `turn` counts from 0. */
export interface StepContext<Task, State, Opened = undefined> {
  readonly task: Task;
  readonly state: State;
  readonly action: Action;
  /** The text of the action's message, without reasoning and tagged calls. */
  readonly text: string;
  /** The calls of tools in the episode so far, those of this message included. Empty without `tools`. */
  readonly calls: readonly CallRecord[];
  readonly turn: number;
  readonly random: Random;
  /** What `open` gave this instance. */
  readonly opened: Opened;
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
  /** `replace`: the reply begins the conversation anew instead of going on with it. `append` by default. */
  readonly context?: Observation["context"];
  /** Ends the episode. By default it ends when there is no reply. */
  readonly done?: boolean;
  /** Replaces the state; absent, the state stays (and may have been changed in place). */
  readonly state?: State;
  /** Whether the answer is right, apart from its reward; needs `statesCorrect` in the definition. */
  readonly correct?: boolean;
  readonly info?: Json;
}

/** A single-agent environment as its author writes it: functions of one message. */
export interface SingleAgentDefinition<
  Task,
  State = undefined,
  Opened extends AsyncDisposable | undefined = undefined,
  // biome-ignore lint/suspicious/noExplicitAny: without inference, a tool's input is not checked.
  Schemas = any,
> extends DefinitionBase<Task, Opened> {
  readonly reset: (context: ResetContext<Task, NoInfer<Opened>>) => ResetOutcome<State> | Promise<ResetOutcome<State>>;
  /**
   * What the model may call, by name; after `reset`, so that the type of the state is known. Calls are run and answered
   * here. `step` gets the messages without calls, the message in which a tool ends the episode, and that of the last
   * turn. Several records, and a function of what `open` gave, are for tools from elsewhere, such as those of a server.
   */
  readonly tools?:
    | { readonly [Name in keyof Schemas]: Tool<Schemas[Name], NoInfer<State>, NoInfer<Task>, NoInfer<Opened>> }
    | readonly ToolRecord[]
    | ((opened: NoInfer<Opened>) => ToolSource);
  /**
   * How the model learns which tools there are. `native` (the default): its chat template or server lists them. `tagged`:
   * the system message does, for models whose template has no place for tools.
   */
  readonly toolProtocol?: ToolProtocol;
  readonly toolLimits?: ToolLimits;
  /** What is said after the results of calls, such as how many turns are left. Nothing by default. */
  readonly afterCalls?: AfterCalls;
  readonly step: (
    context: StepContext<Task, State, NoInfer<Opened>>,
  ) => StepOutcome<NoInfer<State>> | Promise<StepOutcome<NoInfer<State>>>;
  /**
   * A copy of the state for a second instance in the same place, for which `open` is called anew: gives instances a
   * `fork`. `structuredClone` does for plain data, the state itself for one that is never changed in place. A joint
   * rollout of several turns needs it where the environment is not deterministic; else it can replay instead.
   */
  readonly fork?: (state: NoInfer<State>) => NoInfer<State> | Promise<NoInfer<State>>;
  /** The messages of an expert, one a turn; {@link callMessage} makes those with calls. Undefined if none is known. */
  readonly demonstrate?: (
    task: Task,
    context: DemonstrationContext,
  ) => string | Message | readonly (string | Message)[] | undefined;
}

/** `maxTurns` of an environment with tools. */
const defaultToolTurns = 10;

/**
 * An environment for one agent from two functions. `reset` gives the first prompt, `step` judges an answer and says
 * what comes next; without a reply the episode is over. The agent is called `"agent"`. With `tools`, the calls of a
 * message are run and their results are the reply; what a tool throws is an error for the model, and stands with its
 * file and line under `toolErrors` in the info of the step.
 *
 * Splits that do not exist throw `data.out-of-range`; tools that cannot be used throw `config.invalid`, and a definition
 * that lacks a function or has a key that nothing reads `environment.contract`. What `reset` or `step` throws fails the
 * episode that it happened in and no other, and so does what they should not return.
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
      const { messages, state } = begun(await reset(context));
      return { prompts: { agent: messages }, state };
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
  const limits = checkedLimits({ ...defaultToolLimits, ...toolLimits });
  const toolsOf = toolSets(source);
  const steps = new ToolSteps<Task, State, Opened>({ environment: id, maxTurns, limits, afterCalls, step });
  const native = toolProtocol === "native";
  return defineParallelEnvironment<"agent", Task, ToolState<State>, Opened>({
    ...base,
    maxTurns,
    agents: ["agent"],
    ...(native ? { tools: typeof source === "function" ? (opened) => toolsOf(opened).specs : toolsOf().specs } : {}),
    reset: async (context) => {
      const { messages, state } = begun(await reset(context));
      const prompt = native ? messages : withToolInstruction(promptMessages(messages), toolsOf(context.opened).specs);
      return { prompts: { agent: prompt }, state: { state, calls: [] } };
    },
    step: async ({ actions, texts, state: { state, calls: earlier }, ...context }) => {
      const { outcome, calls } = await steps.take(
        { ...context, state, action: actions.agent!, text: texts.agent },
        { tools: toolsOf(context.opened), earlier },
      );
      return replied({ ...outcome, state: { state: outcome.state ?? state, calls } });
    },
    ...(fork === undefined
      ? {}
      : { fork: async ({ state, calls }: ToolState<State>) => ({ state: await fork(state), calls }) }),
    ...demonstrated(demonstrate, native ? (message) => message : withTaggedCalls),
  });
}

/** The tools of an instance. Those of a function are read once for each value that `open` gave. */
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

function begun<State>(outcome: ResetOutcome<State>): { readonly messages: Prompt; readonly state: State } {
  return typeof outcome === "object" && "messages" in outcome
    ? outcome
    : { messages: outcome, state: undefined as State };
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
