import type { ParseError } from "../../contract/action.ts";
import { isJsonObject } from "../../contract/json.ts";
import {
  argumentsText,
  type Message,
  type Part,
  type ToolCall,
  type ToolSpec,
  textOf,
} from "../../contract/message.ts";
import {
  type ExactJson,
  exactText,
  keepsValue,
  type LargeIntegers,
  parseExactJson,
  readExactJson,
  writeExactJson,
} from "../text/exact-json.ts";
import { callArguments } from "../tools/call-arguments.ts";
import { splitReasoning } from "./split-reasoning.ts";
import { readXmlCall, xmlCallPattern } from "./xml-tool-calls.ts";

/**
 * The text form of tool calls. `hermes`: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any number of them
 * within the text. `xml`: the same tags around `<function=name>` with `<parameter=key>` elements, or around a name with
 * `<arg_key>` and `<arg_value>` elements. `llama`: the whole answer is `{"name": ..., "parameters": {...}}`, optionally
 * after `<|python_tag|>`. `bytes`: calls at the end, each as `<|tool|>`, its name and its arguments (if any) as JSON.
 * `none`: the template has no form that can be parsed.
 */
export type ToolCallFormat = "hermes" | "xml" | "llama" | "bytes" | "none";

/** The parsed text of an assistant. */
export interface AssistantText {
  readonly content: readonly Part[];
  readonly toolCalls: readonly ToolCall[];
  /** Tool calls that could not be parsed. Their text stays in `content`. */
  readonly parseErrors: readonly ParseError[];
}

/**
 * Splits an assistant's text into reasoning (as `splitReasoning` does), text and tool calls. Set
 * `startsInReasoning` if the prompt ends with `<think>`. `tools` give the values of calls in XML their types.
 */
export function parseAssistantText(
  text: string,
  options: {
    readonly toolCallFormat: ToolCallFormat;
    readonly startsInReasoning?: boolean;
    readonly tools?: readonly ToolSpec[];
  },
): AssistantText {
  const { reasoning, rest } = splitReasoning(text, options.startsInReasoning ?? false);
  const calls = readToolCalls(rest, options.toolCallFormat, options.tools ?? []);
  const content: Part[] = reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }];
  if (calls.text !== "" || (content.length === 0 && calls.toolCalls.length === 0)) {
    content.push({ type: "text", text: calls.text });
  }
  return { content, toolCalls: calls.toolCalls, parseErrors: calls.parseErrors };
}

/** Returns the joined reasoning parts of a message. */
export function reasoningOf(message: Message): string {
  return message.content.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
}

/**
 * Returns a message's text with its reasoning and its tool calls (in Hermes form) inline, for templates without fields
 * for these.
 */
export function inlineText(
  message: Message,
  inline: { readonly reasoning: boolean; readonly toolCalls: boolean },
): string {
  const reasoning = inline.reasoning ? reasoningOf(message) : "";
  const calls = inline.toolCalls ? (message.toolCalls ?? []) : [];
  const text = textOf(message);
  const blocks = calls.map(
    (call) => `<tool_call>\n{"name":${JSON.stringify(call.name)},"arguments":${argumentsText(call)}}\n</tool_call>`,
  );
  const answer = [...(text === "" ? [] : [text]), ...blocks].join("\n");
  return reasoning === "" ? answer : `<think>\n${reasoning}\n</think>\n\n${answer}`;
}

/** A text and its tool calls. */
export interface AssistantToolCalls {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly parseErrors: readonly ParseError[];
}

function readToolCalls(text: string, format: ToolCallFormat, tools: readonly ToolSpec[]): AssistantToolCalls {
  if (format === "hermes") {
    const pattern = /<tool_call>([\s\S]*?)(<\/tool_call>|$)/g;
    return readTaggedCalls(text, pattern, (inner, index) => readCall(inner, "arguments", index));
  }
  if (format === "xml") {
    return readTaggedCalls(text, xmlCallPattern, (inner, index) => {
      // Some models of these families answer in JSON at times.
      if (inner.trimStart().startsWith("{")) return readCall(inner, "arguments", index);
      const call = readXmlCall(inner, tools);
      return typeof call === "string" ? call : { id: `call_${index}`, ...call };
    });
  }
  if (format === "llama") return readLlamaCall(text);
  if (format === "bytes") return readByteCalls(text.split(toolMark));
  return { text, toolCalls: [], parseErrors: [] };
}

/**
 * Reads the calls of a text. The pattern's groups are the inner text of a call and its end tag, which may be missing.
 */
function readTaggedCalls(
  text: string,
  pattern: RegExp,
  read: (inner: string, index: number) => ToolCall | string,
): AssistantToolCalls {
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  let kept = "";
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    kept += text.slice(end, match.index);
    end = match.index + match[0].length;
    const call = match[2] === "" ? "the tool call has no end" : read(match[1]!, toolCalls.length);
    if (typeof call !== "string") toolCalls.push(call);
    else {
      parseErrors.push({ message: call, text: match[0] });
      kept += match[0];
    }
  }
  kept += text.slice(end);
  return { text: toolCalls.length > 0 ? kept.trimEnd() : kept, toolCalls, parseErrors };
}

function readLlamaCall(text: string): AssistantToolCalls {
  const tag = /^\s*<\|python_tag\|>/.exec(text)?.[0];
  const body = text.slice(tag?.length ?? 0);
  if (tag === undefined && !/^\s*\{\s*"(name|type)"\s*:/.test(body)) return { text, toolCalls: [], parseErrors: [] };
  const call = readCall(body, "parameters", 0);
  if (typeof call !== "string") return { text: "", toolCalls: [call], parseErrors: [] };
  return { text, toolCalls: [], parseErrors: [{ message: call, text: body }] };
}

const toolMark = "<|tool|>";

/** Returns the text of a call for a byte-level model. */
export function byteCallText(call: ToolCall): string {
  const json = argumentsText(call);
  return json === "{}" ? call.name : call.name + json;
}

/** Reads the text before the first tool mark and the call after each mark. */
export function readByteCalls([before = "", ...marked]: readonly string[]): AssistantToolCalls {
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  let text = before;
  for (const written of marked) {
    const [, name, json] = /^([\w.:/-]+)(\{.*)?$/s.exec(written) ?? [];
    const values = json === undefined ? {} : parseJson(json);
    if (name !== undefined && !(values instanceof Error) && isJsonObject(values)) {
      toolCalls.push({ id: `call_${toolCalls.length}`, name, ...callArguments(json) });
      continue;
    }
    const problem = name === undefined ? "it has no name" : "its arguments are not a JSON object";
    parseErrors.push({ message: `the tool call cannot be read: ${problem}`, text: written });
    text += toolMark + written;
  }
  return { text, toolCalls, parseErrors };
}

/**
 * Parses a call from JSON. Returns a problem as a string. Arguments may be JSON in a string. Missing arguments are
 * `{}`.
 */
function readCall(json: string, argumentsKey: "arguments" | "parameters", index: number): ToolCall | string {
  const value = parseJson(json, "text");
  if (value instanceof Error) return `the tool call is not JSON: ${value.message}`;
  if (!isJsonObject(value)) return "the tool call is not a JSON object";
  if (typeof value.name !== "string" || value.name === "") return 'the tool call has no "name"';
  const other = argumentsKey === "arguments" ? "parameters" : "arguments";
  const key = value[argumentsKey] == null ? other : argumentsKey;
  const argumentsJson = isJsonObject(value[key]) ? exactPart(json, key) : undefined;
  try {
    const read = callArguments(value[key], { argumentsJson });
    if (isJsonObject(read.arguments)) return { id: `call_${index}`, name: value.name, ...read };
  } catch (error) {
    return `"${argumentsKey}" of the tool call is not JSON: ${(error as Error).message}`;
  }
  return `"${argumentsKey}" of the tool call is not a JSON object`;
}

/** Returns the exact text of a value in a JSON object if `JSON.parse` would change the value. */
function exactPart(json: string, key: string): string | undefined {
  if (keepsValue(json)) return undefined;
  return exactText(writeExactJson((readExactJson(json) as ReadonlyMap<string, ExactJson>).get(key)!));
}

function parseJson(text: string, largeIntegers?: LargeIntegers): unknown {
  try {
    return parseExactJson(text, largeIntegers);
  } catch (error) {
    return error as Error;
  }
}
