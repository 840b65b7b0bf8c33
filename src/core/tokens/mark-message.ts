import { isJsonObject } from "../../contract/json.ts";
import type { Message, Part, ToolCall, ToolSpec } from "../../contract/message.ts";
import type { Mark } from "./protected-rendering.ts";

const roles: readonly string[] = ["system", "user", "assistant", "tool"];

/** The marks of an answer that its reader reads: a first `<think>` and its end, and each tool call. */
const answerMarks = /^(\s*<think>)([\s\S]*?)(<\/think>)|(<tool_call>)([\s\S]*?)(<\/tool_call>|$)/g;

/**
 * A message with each of its texts marked. In an assistant's text stay the tags of its reasoning and its tool calls:
 * there they mean what the template writes for reasoning and calls that are given apart.
 */
export function markMessage(message: Message, mark: Mark): Message {
  const { role, content, toolCalls, toolCallId, name } = message;
  const markText = role === "assistant" ? (text: string) => markAnswer(text, mark) : mark;
  return {
    role: roles.includes(role) ? role : (mark(role) as Message["role"]),
    content: content.map((part) => markPart(part, markText, mark)),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map((call) => markCall(call, mark)) }),
    ...(toolCallId === undefined ? {} : { toolCallId: mark(toolCallId) }),
    ...(name === undefined ? {} : { name: mark(name) }),
  };
}

function markCall(call: ToolCall, mark: Mark): ToolCall {
  return { id: mark(call.id), name: mark(call.name), arguments: markValue(call.arguments, mark) };
}

function markPart(part: Part, markText: Mark, mark: Mark): Part {
  if (part.type === "text") return { type: "text", text: markText(part.text) };
  return part.type === "reasoning" ? { type: "reasoning", text: mark(part.text) } : part;
}

function markAnswer(text: string, mark: Mark): string {
  let marked = "";
  let at = 0;
  for (const match of text.matchAll(answerMarks)) {
    const [whole, openThought, thought, endThought, openCall, call, endCall] = match;
    const open = openThought ?? openCall!;
    const end = endThought ?? endCall!;
    marked += mark(text.slice(at, match.index));
    marked += end === "" ? mark(whole) : open + mark(thought ?? call!) + end;
    at = match.index + whole.length;
  }
  return marked + mark(text.slice(at));
}

/** A tool with each of its texts marked. */
export function markTool(spec: ToolSpec, mark: Mark): ToolSpec {
  const { name, description, parameters } = spec;
  return { ...spec, name: mark(name), description: mark(description), parameters: markValue(parameters, mark) };
}

/** The variables of a template with each text in them marked, but not their names. */
export function markVariables(variables: Readonly<Record<string, unknown>>, mark: Mark): Record<string, unknown> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, markValue(value, mark)]));
}

/** A JSON value with each text and each key in it marked. */
function markValue<T>(value: T, mark: Mark): T {
  const walk = (item: unknown): unknown => {
    if (typeof item === "string") return mark(item);
    if (Array.isArray(item)) return item.map(walk);
    if (!isJsonObject(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([key, entry]) => [mark(key), walk(entry)]));
  };
  return walk(value) as T;
}
