import type { Action } from "../../contract/action.ts";
import { type Message, type ToolCall, type ToolSpec, textMessage, textOf } from "../../contract/message.ts";
import { inlineText, parseAssistantText } from "../tokens/assistant-text.ts";

/**
 * How a model gets the list of tools. `native`: from its own template or server. `tagged`: from the system message,
 * with calls as `<tool_call>` tags in the text. Calls are parsed in both forms in either case.
 */
export const toolProtocols = ["native", "tagged"] as const;

/** One of `toolProtocols`. */
export type ToolProtocol = (typeof toolProtocols)[number];

/** The parsed message of an assistant. */
export interface ToolMessage {
  /** The text without reasoning and tagged calls. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** True if the calls were separate from the text, or if there are none. Answers are then `tool` messages. */
  readonly native: boolean;
  /** The problems of calls that could not be parsed. */
  readonly problems: readonly string[];
}

/** Parses an action: its native calls, or else the `<tool_call>` tags in its text. */
export function readToolMessage(action: Action): ToolMessage {
  const { toolCalls = [] } = action.message;
  const parsed = parseAssistantText(textOf(action.message), { toolCallFormat: "hermes" });
  const tagged = toolCalls.length === 0 && (parsed.toolCalls.length > 0 || parsed.parseErrors.length > 0);
  const errors = tagged ? parsed.parseErrors : (action.parseErrors ?? []);
  return {
    text: parsed.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    calls: tagged ? parsed.toolCalls : toolCalls,
    native: !tagged,
    problems: errors.map(({ message }) => message),
  };
}

/** Creates the messages that answer a message with calls. */
export function toolReply(options: {
  readonly message: Pick<ToolMessage, "calls" | "native">;
  /** One result per call. */
  readonly results: readonly string[];
  /** One problem per call that could not be parsed. */
  readonly problems: readonly string[];
  /** A further text for the model. */
  readonly remark?: string | undefined;
}): Message[] {
  const { message, results, problems, remark } = options;
  const notes = remark === undefined ? [] : [remark];
  if (!message.native) {
    const responses = message.calls.map(
      ({ name }, index) => `<tool_response name="${name.slice(0, 100)}">\n${results[index]!}\n</tool_response>`,
    );
    return [textMessage("user", [...responses, ...problems, ...notes].join("\n"))];
  }
  return [
    ...message.calls.map(({ id, name }, index): Message => {
      return { ...textMessage("tool", results[index]!), toolCallId: id, name };
    }),
    ...problems.map((problem) => textMessage("tool", problem)),
    ...notes.map((note) => textMessage("user", note)),
  ];
}

/** Adds the list of tools to the system message of a prompt. */
export function withToolInstruction(messages: readonly Message[], specs: readonly ToolSpec[]): readonly Message[] {
  const instruction = [
    "You can call these tools:",
    specs.map((spec) => JSON.stringify(spec)).join("\n"),
    'To call a tool, write: <tool_call>{"name": "...", "arguments": {...}}</tool_call>',
    "The next message contains the result.",
  ].join("\n\n");
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [textMessage("system", instruction), ...messages];
  return [{ ...first, content: [...first.content, { type: "text", text: `\n\n${instruction}` }] }, ...rest];
}

/** Moves a message's calls into its text, as tags. */
export function withTaggedCalls(message: Message): Message {
  if (message.toolCalls === undefined) return message;
  return textMessage(message.role, inlineText(message, { reasoning: false, toolCalls: true }));
}
