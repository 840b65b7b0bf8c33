import type { Message } from "./message.ts";

/**
 * The name of an agent in an environment. The agent of a single-agent environment is `"agent"`.
 *
 * @example
 * import type { AgentId } from "lyceum";
 * const agents: readonly AgentId[] = ["writer", "critic"];
 * agents.length; // => 2
 */
export type AgentId = string;

/** A tool call or structured answer that could not be parsed from the model's text. */
export interface ParseError {
  readonly message: string;
  readonly text: string;
}

/**
 * The action of an agent: one assistant message, and the reason why it ended.
 *
 * @example
 * import { type Action, textMessage, textOf } from "lyceum";
 * const action: Action = { message: textMessage("assistant", "4"), finish: "stop" };
 * textOf(action.message); // => "4"
 */
export interface Action {
  readonly message: Message;
  readonly finish: "stop" | "length" | "tool-calls" | "error";
  readonly parseErrors?: readonly ParseError[];
}
