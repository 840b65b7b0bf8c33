import type { Json } from "./json.ts";

/** The author of a message. Environments write as `system`, `user` or `tool`, policies as `assistant`. */
export type Role = "system" | "user" | "assistant" | "tool";

/**
 * A part of a message. A rollout checks before it starts that its policies accept the part types.
 *
 * @example
 * import { type Part, textOf } from "lyceum";
 * const content: Part[] = [
 *   { type: "reasoning", text: "Two and two." },
 *   { type: "text", text: "4" },
 * ];
 * textOf({ role: "assistant", content }); // => "4"
 */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string };

/** The types of parts. */
export type PartType = Part["type"];

/**
 * A tool call of an assistant. `arguments` is parsed JSON. `argumentsJson` is its exact JSON text, present only if a
 * JavaScript value cannot express it: floats such as `5.0`, integers beyond 2^53, or keys such as "10" in another order.
 * Templates, files and requests to models then show this text. If you change `arguments`, leave it out.
 *
 * @example
 * import type { ToolCall } from "lyceum";
 * const call: ToolCall = { id: "call_0", name: "add", arguments: { a: 2, b: 2 } };
 * call.arguments; // => { a: 2, b: 2 }
 */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
  readonly argumentsJson?: string;
}

/** Returns the JSON text of the arguments of a call, with exact numbers and keys in order. */
export function argumentsText({ arguments: values, argumentsJson }: Omit<ToolCall, "id" | "name">): string {
  return argumentsJson ?? JSON.stringify(values);
}

/**
 * The description of a tool for a model, with a JSON Schema of its arguments. `parametersJson` is the exact text of the
 * schema if a JavaScript value cannot express it, as in {@link ToolCall}.
 *
 * @example
 * import type { ToolSpec } from "lyceum";
 * const look: ToolSpec = {
 *   name: "look",
 *   description: "Describes the room.",
 *   parameters: { type: "object", properties: {} },
 * };
 * look.name; // => "look"
 */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
  readonly parametersJson?: string;
}

/**
 * One message of a conversation.
 *
 * @example
 * import { type Message, textOf } from "lyceum";
 * const question: Message = { role: "user", content: [{ type: "text", text: "What is 2 + 2?" }] };
 * textOf(question); // => "What is 2 + 2?"
 */
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

/**
 * Creates a message with one text part.
 *
 * @example
 * import { textMessage } from "lyceum";
 * textMessage("user", "Hi").content; // => [{ type: "text", text: "Hi" }]
 */
export function textMessage(role: Role, text: string): Message {
  return { role, content: [{ type: "text", text }] };
}

/**
 * Returns the joined text parts of a message, without reasoning and images.
 *
 * @example
 * import { textMessage, textOf } from "lyceum";
 * textOf(textMessage("user", "Hi")); // => "Hi"
 */
export function textOf(message: Message): string {
  let text = "";
  for (const part of message.content) if (part.type === "text") text += part.text;
  return text;
}
