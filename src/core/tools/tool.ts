import type { z } from "zod";
import type { Random } from "../random/random.ts";

/**
 * The second argument of a tool's `execute`.
 *
 * @example
 * import { defineTool, type ToolContext } from "lyceum";
 * // Counts its calls in the state of the episode, and rewards the first.
 * export const look = defineTool({
 *   description: "Describes the room.",
 *   execute: (_, { state, reward }: ToolContext<{ looks: number }>) => {
 *     state.looks += 1;
 *     if (state.looks === 1) reward(0.1);
 *     return "A door and a key.";
 *   },
 * });
 * look.description; // => "Describes the room."
 */
// biome-ignore lint/suspicious/noExplicitAny: a tool that does not name its state works in every environment.
export interface ToolContext<State = any, Task = any, Opened = any> {
  /** The episode's state. The tool may change it in place. */
  readonly state: State;
  readonly task: Task;
  /** The value that `open` returned for the instance. */
  readonly opened: Opened;
  /** The turn of the message with the call, from 0. */
  readonly turn: number;
  /** The source of all randomness. It is seeded by task, rollout and turn. */
  readonly random: Random;
  /** Aborted at the call's timeout or if the episode is stopped. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** Adds to the reward of the turn. A number counts under the tool's name, a record under its own names. */
  reward(worth: number | Readonly<Record<string, number>>): void;
  /** Ends the episode after this message. Later calls of the message are skipped, and `step` scores the turn. */
  end(): void;
  /** The same as `signal`, under the name that tools of the AI SDK use. */
  readonly abortSignal: AbortSignal;
  readonly toolCallId: string;
  /** Always empty. Tools of the AI SDK expect it. */
  readonly messages: never[];
  /** Always `{}`. Tools of the AI SDK expect it. */
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK lets each tool type it.
  readonly context: any;
}

/** The input of a tool after parsing by its schema. */
// biome-ignore lint/suspicious/noExplicitAny: other schemas than Zod's do not say their output here.
export type ToolInput<Schema> = Schema extends z.ZodType ? z.output<Schema> : any;

/**
 * A function that a model can call, in the form of an AI SDK tool, so the result of the AI SDK's `tool()` is one. Its
 * name is its key in the record.
 *
 * @example
 * import { defineEnvironment, type Tool } from "lyceum";
 * const giveUp: Tool = { description: "Ends the episode.", execute: (_, { end }) => end() };
 * const environment = defineEnvironment({
 *   id: "quiz",
 *   tasks: ["What is 17 * 23?"],
 *   reset: ({ task }) => task,
 *   tools: { give_up: giveUp },
 *   step: ({ text }) => ({ reward: text.includes("391") ? 1 : 0 }),
 * });
 * environment.spec.tools?.map(({ name }) => name); // => ["give_up"]
 */
// biome-ignore lint/suspicious/noExplicitAny: records hold tools of any input and state.
export interface Tool<Schema = any, State = any, Task = any, Opened = any> {
  /** What the tool does and returns, for the model. */
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK also has descriptions that depend on its own context.
  readonly description?: string | ((options: any) => string) | undefined;
  /** A Zod 4 schema, or the result of the AI SDK's `jsonSchema()`. Default: no input. */
  readonly inputSchema?: Schema;
  /**
   * True for a tool that calls a service. If the service does not answer in time, it counts as down and the episode is
   * unscored.
   */
  readonly asksService?: boolean;
  /**
   * Runs the call with the parsed input. A text result is shown to the model unchanged, other values as JSON, and of a
   * stream the last value. An error is shown to the model, except `sandbox.unavailable`, `sandbox.closed` and
   * `data.unavailable`, which leave the episode unscored.
   */
  execute?(input: ToolInput<Schema>, context: ToolContext<State, Task, Opened>): unknown;
}

/** Tools by name. */
export type ToolRecord = Readonly<Record<string, Tool>>;

/**
 * Defines a tool outside of an environment, with its input typed by its schema. Type its state with `{ state }:
 * ToolContext<State>`. Whether the environment has such a state is not checked.
 *
 * @example
 * import { defineTool } from "lyceum";
 * import { z } from "zod";
 * export const add = defineTool({
 *   description: "Adds two numbers.",
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 * add.description; // => "Adds two numbers."
 */
// biome-ignore lint/suspicious/noExplicitAny: a tool that does not name its state works in every environment.
export function defineTool<Schema, State = any, Task = any, Opened = any>(
  tool: Tool<Schema, State, Task, Opened>,
): Tool<Schema> {
  return tool;
}
