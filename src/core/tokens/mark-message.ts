import { isJsonObject } from "../../contract/json.ts";
import type { Message, Part, ToolCall, ToolSpec } from "../../contract/message.ts";
import type { Mark } from "./protected-rendering.ts";

const roles: readonly string[] = ["system", "user", "assistant", "tool"];

/** The tags of an answer that the parser reads: a leading `<think>` with its end, and tool calls. */
const answerMarks = /^(\s*<think>)([\s\S]*?)(<\/think>)|(<tool_call>)([\s\S]*?)(<\/tool_call>|$)/g;

/**
 * Marks all texts of a message. An assistant's text keeps its reasoning and tool-call tags, because they mean the same
 * as separate reasoning and calls that the template renders.
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
  const { argumentsJson } = call;
  return {
    id: mark(call.id),
    name: mark(call.name),
    arguments: markValue(call.arguments, mark),
    ...(argumentsJson === undefined ? {} : { argumentsJson: markJson(argumentsJson, mark) }),
  };
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

/** Marks all texts of a tool. */
export function markTool(spec: ToolSpec, mark: Mark): ToolSpec {
  const { name, description, parameters, parametersJson } = spec;
  return {
    ...spec,
    name: mark(name),
    description: mark(description),
    parameters: markValue(parameters, mark),
    ...(parametersJson === undefined ? {} : { parametersJson: markJson(parametersJson, mark) }),
  };
}

/** Marks all texts and keys of a JSON text. */
function markJson(json: string, mark: Mark): string {
  return json.replace(/"(?:[^"\\]|\\.)*"/g, (text) => JSON.stringify(mark(JSON.parse(text) as string)));
}

/** Marks all texts in the variables of a template, but not the variables' names. */
export function markVariables(variables: Readonly<Record<string, unknown>>, mark: Mark): Record<string, unknown> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, markValue(value, mark)]));
}

/** Marks all texts and keys of a JSON value. */
function markValue<T>(value: T, mark: Mark): T {
  const walk = (item: unknown): unknown => {
    if (typeof item === "string") return mark(item);
    if (Array.isArray(item)) return item.map(walk);
    if (!isJsonObject(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([key, entry]) => [mark(key), walk(entry)]));
  };
  return walk(value) as T;
}
