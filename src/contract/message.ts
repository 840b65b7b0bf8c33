import type { Json } from "./json.ts";

/** Who speaks. Environments speak as `system`, `user` or `tool`; policies as `assistant`. */
export type Role = "system" | "user" | "assistant" | "tool";

/** One piece of a message. A policy that cannot take a part type refuses it before the rollout starts. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string };

/** The kinds of part there are. */
export type PartType = Part["type"];

/** A call that an assistant asks the environment to make. `arguments` is parsed JSON. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
}

/** A tool as a model is told of it: JSON Schema for its arguments. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
}

/** One message of a conversation. */
export interface Message {
  readonly role: Role;
  readonly content: readonly Part[];
  readonly toolCalls?: readonly ToolCall[];
  /** On a `tool` message: the call that it answers. */
  readonly toolCallId?: string;
  readonly name?: string;
}

/**
 * The role of a message in a request to a server. A `tool` message that answers no call (the call cannot be read) is sent
 * as a user's: servers refuse a result without its call.
 */
export function servedRole({ role, toolCallId }: Message): Role {
  return role === "tool" && toolCallId === undefined ? "user" : role;
}

/** A message of one text part. */
export function textMessage(role: Role, text: string): Message {
  return { role, content: [{ type: "text", text }] };
}

/** The text parts of a message, joined; reasoning and images left out. */
export function textOf(message: Message): string {
  let text = "";
  for (const part of message.content) if (part.type === "text") text += part.text;
  return text;
}
