import { isJsonObject } from "../../../src/contract/json.ts";
import { textOf } from "../../../src/contract/message.ts";
import { reasoningOf } from "../../../src/core/tokens/assistant-text.ts";
import { readAnthropic } from "./anthropic-request.ts";
import type { Dialect, DialectError, ModelAnswer, StreamEvent } from "./dialect.ts";

/** Anthropic's protocol (`/v1/messages`). */
export const anthropic: Dialect = {
  name: "anthropic",
  read: readAnthropic,
  answer: (answer) => ({ ...frame(answer), content: contentOf(answer), ...ending(answer), usage: usageOf(answer) }),
  events: (answer) => {
    const started = {
      ...frame(answer),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usageOf(answer), output_tokens: 0 },
    };
    return [
      event({ type: "message_start", message: started }),
      ...contentOf(answer).flatMap(blockEvents),
      event({ type: "message_delta", delta: ending(answer), usage: usageOf(answer) }),
      event({ type: "message_stop" }),
    ];
  },
  error: errorBody,
  errorEvent: (error) => event(errorBody(error)),
};

function event(data: { readonly type: string; readonly [field: string]: unknown }): StreamEvent {
  return { event: data.type, data };
}

type Block =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object };

function contentOf({ result: { action } }: ModelAnswer): readonly Block[] {
  const { message } = action;
  const thinking = reasoningOf(message);
  const text = textOf(message);
  return [
    ...(thinking === "" ? [] : [{ type: "thinking" as const, thinking, signature: "" }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...(message.toolCalls ?? []).map(({ id, name, arguments: values }) => ({
      type: "tool_use" as const,
      id,
      name,
      input: isJsonObject(values) ? values : {},
    })),
  ];
}

function blockEvents(block: Block, index: number): readonly StreamEvent[] {
  const [empty, deltas] = inPieces(block);
  return [
    event({ type: "content_block_start", index, content_block: empty }),
    ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
    event({ type: "content_block_stop", index }),
  ];
}

/** Returns a block without its content, and the content as deltas. */
function inPieces(block: Block): readonly [object, readonly object[]] {
  switch (block.type) {
    case "text":
      return [{ ...block, text: "" }, [{ type: "text_delta", text: block.text }]];
    case "thinking":
      return [
        { ...block, thinking: "" },
        [
          { type: "thinking_delta", thinking: block.thinking },
          { type: "signature_delta", signature: block.signature },
        ],
      ];
    case "tool_use":
      return [{ ...block, input: {} }, [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }]];
  }
}

function frame({ id, model }: ModelAnswer) {
  return { id: `msg_${id}`, type: "message", role: "assistant", model };
}

function ending({ result: { action } }: ModelAnswer) {
  const calls = (action.message.toolCalls ?? []).length > 0;
  const stop_reason = action.finish === "length" ? "max_tokens" : calls ? "tool_use" : "end_turn";
  return { stop_reason, stop_sequence: null };
}

function usageOf({ result: { usage } }: ModelAnswer) {
  const { promptTokens = 0, completionTokens = 0, cachedPromptTokens = 0 } = usage ?? {};
  return {
    input_tokens: promptTokens - cachedPromptTokens,
    output_tokens: completionTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedPromptTokens,
  };
}

function errorBody({ status, message, code }: DialectError) {
  // Clients look for these words to shorten a conversation.
  const shown = code === "policy.prompt-too-long" ? `prompt is too long: ${message}` : message;
  return { type: "error", error: { type: errorType(status), message: shown }, code };
}

function errorType(status: number): string {
  const types: Readonly<Record<number, string>> = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
  };
  return types[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}
