import type { Message } from "./message.ts";

/** Names one agent within an environment. A single-agent environment calls its agent `"agent"`. */
export type AgentId = string;

/** A tool call or structured answer in the model's text that could not be parsed. */
export interface ParseError {
  readonly message: string;
  readonly text: string;
}

/** What an agent does: one assistant message, and why it ended. */
export interface Action {
  readonly message: Message;
  readonly finish: "stop" | "length" | "tool-calls" | "error";
  readonly parseErrors?: readonly ParseError[];
}
