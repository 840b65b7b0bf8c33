import type { Json } from "./json.ts";

/** The author of a message. Environments write as `system`, `user` or `tool`, policies as `assistant`. */
export type Role = "system" | "user" | "assistant" | "tool";

/** A part of a message. A rollout checks before it starts that its policies accept the part types. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string };

/** The types of parts. */
export type PartType = Part["type"];

/** A tool call of an assistant. `arguments` is parsed JSON. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
}

/** The description of a tool for a model, with a JSON Schema of its arguments. */
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
  /** The call that a `tool` message answers. */
  readonly toolCallId?: string;
  readonly name?: string;
}

/**
 * Returns the role of a message in a request to a server. A `tool` message that answers no call (because the call could
 * not be parsed) is sent as a user message: servers reject a result without its call.
 */
export function servedRole({ role, toolCallId }: Message): Role {
  return role === "tool" && toolCallId === undefined ? "user" : role;
}

/** Creates a message with one text part. */
export function textMessage(role: Role, text: string): Message {
  return { role, content: [{ type: "text", text }] };
}

/** Returns the joined text parts of a message, without reasoning and images. */
export function textOf(message: Message): string {
  let text = "";
  for (const part of message.content) if (part.type === "text") text += part.text;
  return text;
}
