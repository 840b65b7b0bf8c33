import { LyceumError } from "../../../contract/errors/index.ts";
import { argumentsText, type Message, type Part, servedRole, type ToolCall } from "../../../contract/message.ts";
import type { ActRequest } from "../../../contract/policy.ts";
import { reasoningOf } from "../../tokens/assistant-text.ts";
import { chatTool } from "../../tools/chat-tool.ts";
import { type BodyOptions, type ReasoningField, type RequestBody, requestBody } from "./request-body.ts";

/**
 * Returns the body of a request in OpenAI's chat protocol. Omits earlier reasoning, as chat templates do,
 * unless `reasoningField` names a field for it. Throws `policy.unsupported-input` for an image in a message that is not a user message.
 */
export function chatBody(request: ActRequest, options: BodyOptions): RequestBody {
  const { messages, tools = [], templateVariables } = request;
  const fields = {
    messages: messages.map((message) => chatMessage(message, options.reasoningField)),
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool) }),
    ...(templateVariables === undefined ? {} : { chat_template_kwargs: templateVariables }),
    ...(options.logprobs ? { logprobs: true } : {}),
  };
  return requestBody(fields, request, options);
}

function chatMessage(message: Message, reasoningField: ReasoningField | undefined): unknown {
  const { name, toolCallId, toolCalls = [] } = message;
  const role = servedRole(message);
  const reasoning = reasoningField === undefined || role !== "assistant" ? "" : reasoningOf(message);
  return {
    role,
    ...(reasoning === "" ? {} : { [reasoningField!]: reasoning }),
    content: role === "user" ? userContent(message.content) : textContent(message),
    name,
    tool_call_id: toolCallId,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(chatToolCall) }),
  };
}

function chatToolCall({ id, name, ...given }: ToolCall): unknown {
  return { id, type: "function", function: { name, arguments: argumentsText(given) } };
}

/** Sends plain text as a string, which all servers accept. */
function userContent(parts: readonly Part[]): unknown {
  if (!parts.some(({ type }) => type === "image")) return joined(parts);
  return parts.flatMap((part): readonly unknown[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "reasoning") return [];
    return [{ type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } }];
  });
}

function textContent({ role, content }: Message): string {
  if (content.some(({ type }) => type === "image")) {
    throw new LyceumError({
      code: "policy.unsupported-input",
      message: `The chat protocol does not support images in a ${role} message.`,
      hint: "Send images in user messages.",
      data: { role },
    });
  }
  return joined(content);
}

function joined(parts: readonly Part[]): string {
  let text = "";
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}
