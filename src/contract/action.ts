import type { Message } from "./message.ts";

/** The name of an agent in an environment. The agent of a single-agent environment is `"agent"`. */
export type AgentId = string;

/** A tool call or structured answer that could not be parsed from the model's text. */
export interface ParseError {
  readonly message: string;
  readonly text: string;
}

/** The action of an agent: one assistant message, and the reason why it ended. */
export interface Action {
  readonly message: Message;
  readonly finish: "stop" | "length" | "tool-calls" | "error";
  readonly parseErrors?: readonly ParseError[];
}
