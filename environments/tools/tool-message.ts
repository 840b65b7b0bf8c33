import type { Action } from "../../src/environment/environment.ts";
import { type Message, type ToolCall, type ToolSpec, textMessage, textOf } from "../../src/message/message.ts";
import { parseAssistantText } from "../../src/tokens/assistant-text.ts";

/** How a model is told to call tools: by its own template's means, or by tags in its text. Both are always read. */
export const toolProtocols = ["tagged", "native"] as const;

/** One of {@link toolProtocols}. */
export type ToolProtocol = (typeof toolProtocols)[number];

/** What an assistant's message asks for. */
export interface ToolMessage {
  readonly calls: readonly ToolCall[];
  /** The calls came apart from the text: tool messages answer them. */
  readonly native: boolean;
  /** What is wrong with calls that could not be read. */
  readonly problems: readonly string[];
  /** What stands in the last `<answer>` tag; undefined where there is none. */
  readonly answer: string | undefined;
}

/** Reads an action: native calls where it has any, else `<tool_call>` tags in its text, and the answer. */
export function readToolMessage(action: Action): ToolMessage {
  const { toolCalls = [] } = action.message;
  const parsed = parseAssistantText(textOf(action.message), { toolCallFormat: "hermes" });
  const native = toolCalls.length > 0;
  const errors = native || parsed.parseErrors.length === 0 ? (action.parseErrors ?? []) : parsed.parseErrors;
  const text = parsed.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return {
    calls: native ? toolCalls : parsed.toolCalls,
    native,
    problems: errors.map(({ message }) => message),
    answer: [...text.matchAll(/<answer>([\s\S]*?)<\/answer>/g)].at(-1)?.[1]?.trim(),
  };
}

/** What a model is told before the question. */
export function toolInstruction(protocol: ToolProtocol, specs: readonly ToolSpec[]): string {
  const answer = "Give the answer alone, on its own, between tags: <answer>42</answer>";
  if (protocol === "native") return `Answer the question, with the tools where they help. ${answer}`;
  return [
    "Answer the question, with these tools where they help:",
    specs.map((spec) => JSON.stringify(spec)).join("\n"),
    'Call a tool so: <tool_call>{"name": "...", "arguments": {...}}</tool_call>',
    `What it gives comes with the next message. ${answer}`,
  ].join("\n\n");
}

/** The messages that answer calls, and what else there is to say. */
export function toolReply(options: {
  readonly message: Pick<ToolMessage, "calls" | "native">;
  /** One a call. */
  readonly results: readonly string[];
  readonly notes: readonly string[];
}): Message[] {
  const { message, results, notes } = options;
  const answers = message.calls.map((call, index) => ({ call, text: results[index]! }));
  if (!message.native) {
    const responses = answers.map(
      ({ call, text }) => `<tool_response name="${call.name.slice(0, 100)}">\n${text}\n</tool_response>`,
    );
    return [textMessage("user", [...responses, ...notes].join("\n"))];
  }
  return [
    ...answers.map(({ call, text }) => ({ ...textMessage("tool", text), toolCallId: call.id, name: call.name })),
    ...(notes.length === 0 ? [] : [textMessage("user", notes.join("\n"))]),
  ];
}
