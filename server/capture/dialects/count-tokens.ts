import { textOf } from "../../../src/contract/message.ts";
import { readAnthropicCount } from "./anthropic-request.ts";

/** The usual number of characters of a token. */
const charactersPerToken = 4;

/**
 * Estimates the tokens of a request of `/v1/messages/count_tokens` by its length. Clients use the number to decide when
 * to shorten a conversation. It is not recorded.
 */
export function countedTokens(body: unknown): { readonly input_tokens: number } {
  const { messages, tools = [] } = readAnthropicCount(body);
  const texts = messages.map((message) => textOf(message) + JSON.stringify(message.toolCalls ?? ""));
  const length = texts.join("").length + (tools.length === 0 ? 0 : JSON.stringify(tools).length);
  return { input_tokens: Math.max(1, Math.ceil(length / charactersPerToken)) };
}
