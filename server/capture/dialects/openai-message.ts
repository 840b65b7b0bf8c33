import { argumentsText, type Message, type ToolCall, textOf } from "../../../src/contract/message.ts";
import { reasoningOf } from "../../../src/core/tokens/assistant-text.ts";

/** The fields of an assistant's message in OpenAI's chat protocol. */
export interface ChatAnswer {
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** Returns the fields of an assistant's message, without its role. */
export function chatAnswer(message: Message): ChatAnswer {
  const { toolCalls = [] } = message;
  const reasoning = reasoningOf(message);
  const text = textOf(message);
  return {
    content: text === "" && toolCalls.length > 0 ? null : text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(chatCall) }),
  };
}

/** Returns a message in OpenAI's chat protocol. */
export function chatMessage(message: Message): object {
  const { role, content, name, toolCallId } = message;
  if (role === "assistant") return { role, ...chatAnswer(message) };
  const hasImages = content.some(({ type }) => type === "image");
  return {
    role,
    content: hasImages ? content.map(chatPart) : textOf(message),
    ...(name === undefined ? {} : { name }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  };
}

function chatPart(part: Message["content"][number]): object {
  if (part.type !== "image") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
}

function chatCall({ id, name, ...given }: ToolCall) {
  return { id, type: "function" as const, function: { name, arguments: writtenArguments(given) } };
}

/** Returns the arguments of a call as a text. Arguments that are no JSON are the text of the client itself. */
export function writtenArguments(call: Omit<ToolCall, "id" | "name">): string {
  return typeof call.arguments === "string" ? call.arguments : argumentsText(call);
}
