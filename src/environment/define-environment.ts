import type { Json } from "../json.ts";
import type { Random } from "../random/random.ts";
import {
  type DefinitionBase,
  type DemonstrationContext,
  defineParallelEnvironment,
  type ResetContext,
} from "./define-parallel-environment.ts";
import type { Action, EnvironmentDefinition, Observation } from "./environment.ts";
import type { Prompt } from "./prompt.ts";
import type { Reward } from "./reward.ts";

/** What `reset` answers: the first prompt, with the episode's state where there is one. */
export type ResetOutcome<State> = Prompt | { readonly messages: Prompt; readonly state: State };

/** What `step` is given. `turn` counts from 0. */
export interface StepContext<Task, State, Held = undefined> {
  readonly task: Task;
  readonly state: State;
  readonly action: Action;
  /** The text of the action's message, reasoning left out. */
  readonly text: string;
  readonly turn: number;
  readonly random: Random;
  /** What `open` gave this instance. */
  readonly held: Held;
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
export interface SingleAgentDefinition<Task, State = undefined, Held extends AsyncDisposable | undefined = undefined>
  extends DefinitionBase<Task, Held> {
  readonly reset: (context: ResetContext<Task, NoInfer<Held>>) => ResetOutcome<State> | Promise<ResetOutcome<State>>;
  readonly step: (
    context: StepContext<Task, State, NoInfer<Held>>,
  ) => StepOutcome<NoInfer<State>> | Promise<StepOutcome<NoInfer<State>>>;
  /**
   * A copy of the state for a second instance in the same place, for which `open` is called anew: gives instances a
   * `fork`. `structuredClone` does for plain data, the state itself for one that is never changed in place. A joint
   * rollout of several turns needs it where the environment is not deterministic; else it can replay instead.
   */
  readonly fork?: (state: NoInfer<State>) => NoInfer<State> | Promise<NoInfer<State>>;
  /** The answers of an expert, one a turn; undefined where none is known. */
  readonly demonstrate?: (task: Task, context: DemonstrationContext) => string | readonly string[] | undefined;
}

/**
 * An environment for one agent from two functions. `reset` gives the first prompt, `step` judges an answer and says
 * what comes next; without a reply the episode is over. The agent is called `"agent"`.
 *
 * Splits that do not exist throw `data.out-of-range`. What `reset` or `step` throws fails the episode that it
 * happened in and no other.
 */
export function defineEnvironment<Task, State = undefined, Held extends AsyncDisposable | undefined = undefined>(
  definition: SingleAgentDefinition<Task, State, Held>,
): EnvironmentDefinition<Task> {
  const { reset, step, demonstrate, ...base } = definition;
  return defineParallelEnvironment<"agent", Task, State, Held>({
    ...base,
    agents: ["agent"],
    reset: async (context) => {
      const outcome = await reset(context);
      return typeof outcome === "object" && "messages" in outcome
        ? { prompts: { agent: outcome.messages }, state: outcome.state }
        : { agent: outcome };
    },
    step: async ({ actions, texts, ...context }) => {
      const { reply, ...outcome } = await step({ ...context, action: actions.agent!, text: texts.agent });
      return reply === undefined ? outcome : { ...outcome, replies: { agent: reply } };
    },
    ...(demonstrate === undefined
      ? {}
      : {
          demonstrate: (task: Task, context) => {
            const answers = demonstrate(task, context);
            if (answers === undefined) return undefined;
            return (typeof answers === "string" ? [answers] : answers).map((text) => ({ agent: text }));
          },
        }),
  });
}
