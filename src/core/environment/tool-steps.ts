import { describeValue } from "../../contract/describe-value.ts";
import { writtenAt } from "../../contract/errors/function-location.ts";
import { toErrorData } from "../../contract/errors/index.ts";
import { userPlace } from "../../contract/errors/source-location.ts";
import type { Json } from "../../contract/json.ts";
import { isJsonObject } from "../../contract/json.ts";
import { promptMessages } from "../../contract/prompt.ts";
import { addRewards, type Reward, scored, unscored } from "../../contract/reward.ts";
import { sum } from "../statistics.ts";
import { callTool } from "../tools/call-tool.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { ToolLimits } from "../tools/tool-limits.ts";
import { readToolMessage, type ToolMessage, toolReply } from "../tools/tool-message.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { StepContext, StepOutcome } from "./define-environment.ts";
import { contractError } from "./environment-error.ts";

/** One tool call of a model, and its result. */
export interface CallRecord {
  /** The turn of the message, from 0. */
  readonly turn: number;
  /** The name of the tool. Empty if the call could not be parsed. */
  readonly name: string;
  readonly arguments: Json;
  /** The result as the model reads it. */
  readonly result: string;
  /** True if the tool ran without an error. */
  readonly ok: boolean;
}

/** Returns text that is added after the results of tool calls. */
export type AfterCalls = (context: { readonly turnsLeft: number }) => string | undefined;

type BareContext<Task, State, Opened> = Omit<StepContext<Task, State, Opened>, "calls">;

/** A tool that threw, as the trace records it. */
interface ToolError {
  readonly tool: string;
  readonly message: string;
  /** The line in the user's code. */
  readonly at?: string;
}

const callForm = 'A call is JSON: {"name": "...", "arguments": {...}}.';

/** Runs the tool calls of an agent's messages. Calls `step` for messages without calls. */
export class ToolSteps<Task, State, Opened> {
  readonly #environment: string;
  readonly #maxTurns: number;
  readonly #limits: Required<ToolLimits>;
  readonly #afterCalls: AfterCalls | undefined;
  readonly #step: (context: StepContext<Task, State, Opened>) => StepOutcome<State> | Promise<StepOutcome<State>>;

  constructor(options: {
    readonly environment: string;
    readonly maxTurns: number;
    readonly limits: Required<ToolLimits>;
    readonly afterCalls: AfterCalls | undefined;
    readonly step: (context: StepContext<Task, State, Opened>) => StepOutcome<State> | Promise<StepOutcome<State>>;
  }) {
    this.#environment = options.environment;
    this.#maxTurns = options.maxTurns;
    this.#limits = options.limits;
    this.#afterCalls = options.afterCalls;
    this.#step = options.step;
  }

  /**
   * Handles one message: runs its calls and replies with their results. Calls `step` if there are no calls, if a tool
   * ended the episode, and in the last turn. `earlier` contains the earlier calls of the episode.
   */
  async take(
    context: BareContext<Task, State, Opened>,
    { tools, earlier }: { readonly tools: ToolSet; readonly earlier: readonly CallRecord[] },
  ): Promise<{ readonly outcome: StepOutcome<State>; readonly calls: readonly CallRecord[] }> {
    const message = readToolMessage(context.action);
    const run = new CallRun({ context, tools, limits: this.#limits, environment: this.#environment });
    const failure = await run.callAll(message);
    const calls = [...earlier, ...run.records];
    if (failure !== undefined) return { calls, outcome: run.finish({ reward: failure }) };
    const asked = run.records.length > 0;
    const turnsLeft = this.#maxTurns - context.turn - 1;
    if (asked && !run.ended && turnsLeft > 0) {
      return { calls, outcome: run.finish({ reply: run.reply(message, this.#afterCalls?.({ turnsLeft })) }) };
    }
    const outcome = await this.#step({ ...context, text: message.text, calls });
    if (!asked) return { calls, outcome };
    const reply =
      outcome.reply === undefined ? {} : { reply: [...run.reply(message), ...promptMessages(outcome.reply)] };
    const done = run.ended ? { done: true } : {};
    return { calls, outcome: run.finish({ ...outcome, ...reply, ...done }) };
  }
}

/** The tool calls of one message. */
class CallRun<Task, State, Opened> {
  readonly records: CallRecord[] = [];
  ended = false;
  readonly #context: BareContext<Task, State, Opened>;
  readonly #tools: ToolSet;
  readonly #limits: Required<ToolLimits>;
  readonly #environment: string;
  readonly #errors: ToolError[] = [];
  #earned: Reward | undefined;

  constructor(options: {
    readonly context: BareContext<Task, State, Opened>;
    readonly tools: ToolSet;
    readonly limits: Required<ToolLimits>;
    readonly environment: string;
  }) {
    this.#context = options.context;
    this.#tools = options.tools;
    this.#limits = options.limits;
    this.#environment = options.environment;
  }

  /** Runs the calls one after another. Returns an unscored reward if the infrastructure fails. */
  async callAll({ calls, problems }: ToolMessage): Promise<Reward | undefined> {
    const { turn } = this.#context;
    try {
      for (const [index, call] of calls.entries()) {
        if (this.ended) return undefined;
        const { name, arguments: input } = call;
        const { text: result, ok } = await this.#call(index, call);
        this.records.push({ turn, name, arguments: input, result, ok });
      }
    } catch (error) {
      this.#context.signal?.throwIfAborted();
      const data = toErrorData(error);
      if (data.code === "environment.contract") throw error;
      return unscored(data.message, data);
    }
    for (const problem of problems.slice(0, this.#limits.callsPerMessage)) {
      this.records.push({ turn, name: "", arguments: null, result: `Error: ${problem}. ${callForm}`, ok: false });
    }
    return undefined;
  }

  reply(message: ToolMessage, remark?: string): ReturnType<typeof toolReply> {
    const results = this.records.map(({ result }) => result);
    const made = message.calls.slice(0, results.length);
    const problems = results.slice(made.length);
    return toolReply({ message: { ...message, calls: made }, results, problems, remark });
  }

  /** Adds the rewards and the errors of the calls to an outcome. */
  finish(outcome: StepOutcome<State>): StepOutcome<State> {
    const { reward, components, info, ...rest } = outcome;
    return { ...rest, ...this.#rewarded(outcome), ...this.#informed(info) };
  }

  async #call(
    index: number,
    call: ToolMessage["calls"][number],
  ): Promise<{ readonly text: string; readonly ok: boolean }> {
    const { callsPerMessage } = this.#limits;
    if (index >= callsPerMessage) {
      const text = `Error: at most ${callsPerMessage} calls in one message. Make this one in the next.`;
      return { text, ok: false };
    }
    const open = { is: true };
    const result = await callTool({
      tools: this.#tools,
      limits: this.#limits,
      call,
      context: (signal) => this.#toolContext(call, { signal, open }),
      signal: this.#context.signal,
    });
    // A tool that was stopped may still run. Its effects no longer count.
    open.is = false;
    if (result.thrown !== undefined)
      this.#errors.push(toolError(call.name, { thrown: result.thrown, tools: this.#tools }));
    return result;
  }

  #toolContext(
    call: { readonly name: string; readonly id: string },
    { signal, open }: { readonly signal: AbortSignal; readonly open: { readonly is: boolean } },
  ): ToolContext<State, Task, Opened> {
    const { state, task, opened, turn, random } = this.#context;
    return {
      state,
      task,
      opened,
      turn,
      random,
      signal,
      reward: (worth) => {
        if (open.is) this.#earn(call.name, worth);
      },
      end: () => {
        if (open.is) this.ended = true;
      },
      abortSignal: signal,
      toolCallId: call.id,
      messages: [],
      context: {},
    };
  }

  #earn(tool: string, worth: number | Readonly<Record<string, number>>): void {
    const components: Readonly<Record<string, number>> = isJsonObject(worth) ? worth : { [tool]: worth };
    const values = Object.values(components);
    const wrong = values.findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0) {
      throw contractError({
        environment: this.#environment,
        problem: `was given ${describeValue(values[wrong])} as a reward in the tool "${tool}", which is not a finite number`,
        rule: "Call reward with a number, or with a record of numbers.",
      });
    }
    const earned = scored(sum(values), components);
    this.#earned = this.#earned === undefined ? earned : addRewards(this.#earned, earned);
  }

  #rewarded({ reward, components }: StepOutcome<State>): Pick<StepOutcome<State>, "reward" | "components"> {
    const given = { reward, components };
    if (this.#earned === undefined) return given;
    if (reward === undefined && components === undefined) return { reward: this.#earned };
    if (typeof reward === "object") return { reward: addRewards(this.#earned, reward) };
    const value = reward ?? sum(Object.values(components ?? {}));
    return { reward: addRewards(this.#earned, scored(value, components)) };
  }

  #informed(info: Json | undefined): Pick<StepOutcome<State>, "info"> {
    if (this.#errors.length === 0) return info === undefined ? {} : { info };
    const toolErrors = this.#errors.map((error) => ({ ...error }));
    if (info === undefined) return { info: { toolErrors } };
    return { info: isJsonObject(info) ? { ...info, toolErrors } : { info, toolErrors } };
  }
}

function toolError(tool: string, { thrown, tools }: { readonly thrown: unknown; readonly tools: ToolSet }): ToolError {
  const found = tools.find(tool);
  const at = userPlace(thrown) ?? (typeof found === "string" ? undefined : writtenAt(found.written));
  const { name, message } = toErrorData(thrown);
  return {
    tool,
    message: thrown instanceof Error ? `${name}: ${message}` : message,
    ...(at === undefined ? {} : { at }),
  };
}
