import type { z } from "zod";
import type { Random } from "../random/random.ts";

/** What a tool's `execute` is given beside its input. */
// biome-ignore lint/suspicious/noExplicitAny: a tool that does not name its state works in every environment.
export interface ToolContext<State = any, Task = any, Opened = any> {
  /** The episode's state, which the tool may change in place. */
  readonly state: State;
  readonly task: Task;
  /** What `open` gave the instance. */
  readonly opened: Opened;
  /** The turn of the message that makes the call, from 0. */
  readonly turn: number;
  /** Everything random must come from it: it is seeded by task, rollout and turn. */
  readonly random: Random;
  /** Aborted if the call's time is over or the episode is stopped. Pass it on to everything that waits. */
  readonly signal: AbortSignal;
  /** Adds to the reward of the turn: a number counts under the tool's name, a record under its own names. */
  reward(worth: number | Readonly<Record<string, number>>): void;
  /** Ends the episode after this message: later calls of the message are left out, and `step` scores. */
  end(): void;
  /** The same as `signal`, as tools of the AI SDK call it. */
  readonly abortSignal: AbortSignal;
  readonly toolCallId: string;
  /** Always empty; tools of the AI SDK expect it. */
  readonly messages: never[];
  /** Always `{}`; tools of the AI SDK expect it. */
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK lets each tool type it.
  readonly context: any;
}

/** The input of a tool as its schema parses it. */
// biome-ignore lint/suspicious/noExplicitAny: other schemas than Zod's do not say their output here.
export type ToolInput<Schema> = Schema extends z.ZodType ? z.output<Schema> : any;

/**
 * Something that a model may call, in the shape of an AI SDK tool: what `tool()` of the AI SDK returns is one. Its
 * name is its key in the record that it stands in.
 */
// biome-ignore lint/suspicious/noExplicitAny: records hold tools of any input and state.
export interface Tool<Schema = any, State = any, Task = any, Opened = any> {
  /** What it does and returns, for the model. */
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK also has descriptions that depend on its own context.
  readonly description?: string | ((options: any) => string) | undefined;
  /** A Zod 4 schema, or what `jsonSchema()` of the AI SDK returns. No input by default. */
  readonly inputSchema?: Schema;
  /** True for a tool that asks a service: one that does not answer in time is down, and the episode is unscored. */
  readonly asksService?: boolean;
  /**
   * Runs the call. The input is parsed by the schema. A text is shown as it is, other values as JSON; of a stream, the
   * last value. What it throws is shown to the model as an error, except `sandbox.unavailable`, `sandbox.closed` and
   * `data.unavailable`: they leave the episode unscored.
   */
  execute?(input: ToolInput<Schema>, context: ToolContext<State, Task, Opened>): unknown;
}

/** Tools by their names. */
export type ToolRecord = Readonly<Record<string, Tool>>;

/**
 * A tool that stands alone, with its input typed by its schema. Type its state by `{ state }: ToolContext<State>`; that
 * the environment has such a state is not checked.
 */
// biome-ignore lint/suspicious/noExplicitAny: a tool that does not name its state works in every environment.
export function defineTool<Schema, State = any, Task = any, Opened = any>(
  tool: Tool<Schema, State, Task, Opened>,
): Tool<Schema> {
  return tool;
}
