import { createHash } from "node:crypto";
import { type Message, type ToolSpec, textOf } from "../../src/contract/message.ts";
import { canonicalJson } from "../../src/core/taskset/canonical-json.ts";
import { reasoningOf } from "../../src/core/tokens/assistant-text.ts";
import { nestedTooDeeply } from "./dialects/read-request.ts";

/** A key for each prefix of a conversation. Equal prefixes have equal keys. */
export interface ConversationKeys {
  /** Returns the key of the first `count` messages. */
  upTo(count: number): string;
  /** Returns the key of the whole conversation followed by one more message. */
  followedBy(message: Message): string;
}

/**
 * Computes the keys of a conversation and its tools. Two messages are equal if role, text, reasoning, images and tool
 * calls are. White space around an assistant's text does not count, because some clients remove it. The ids of tool
 * calls count by the order in which they appear, because some clients rename them. Throws `server.invalid-request` for
 * arguments that are nested too deeply.
 */
export function conversationKeys(messages: readonly Message[], tools: readonly ToolSpec[] = []): ConversationKeys {
  const places = new Map<string, number>();
  const next = (key: string, message: Message): string => hash(`${key}\n${identity(message, places)}`);
  const keys = [hash(plainJson(tools))];
  for (const message of messages) keys.push(next(keys.at(-1)!, message));
  return { upTo: (count) => keys[count]!, followedBy: (message) => next(keys.at(-1)!, message) };
}

function identity(message: Message, places: Map<string, number>): string {
  const { role, content, toolCalls = [], toolCallId } = message;
  const images = content.flatMap((part) => (part.type === "image" ? [part.mediaType, part.data] : []));
  const calls = toolCalls.map(({ id, name, arguments: values }) => {
    places.set(id, places.size);
    return [name, plainJson(values)];
  });
  const [text, reasoning] = [textOf(message), reasoningOf(message)];
  const said = role === "assistant" ? [text.trim(), reasoning.trim()] : [text, reasoning];
  const answered = toolCallId === undefined ? null : (places.get(toolCallId) ?? toolCallId);
  return JSON.stringify([role, said, images, calls, answered]);
}

function plainJson(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    throw nestedTooDeeply();
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
