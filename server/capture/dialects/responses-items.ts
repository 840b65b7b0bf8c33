import { type Message, textOf } from "../../../src/contract/message.ts";
import { reasoningOf } from "../../../src/core/tokens/assistant-text.ts";
import { writtenArguments } from "./openai-message.ts";

/** An item of a response's output. */
export type OutputItem =
  | {
      readonly id: string;
      readonly type: "reasoning";
      readonly summary: readonly { readonly type: "summary_text"; readonly text: string }[];
      readonly content: readonly { readonly type: "reasoning_text"; readonly text: string }[];
    }
  | {
      readonly id: string;
      readonly type: "message";
      readonly role: "assistant";
      readonly status: string;
      readonly content: readonly {
        readonly type: "output_text";
        readonly text: string;
        readonly annotations: readonly [];
        readonly logprobs: readonly object[];
      }[];
    }
  | {
      readonly id: string;
      readonly type: "function_call";
      readonly status: string;
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    };

/** Returns the items of an answer: reasoning, text and tool calls. Their ids contain the id of the call. */
export function outputItems(
  id: string,
  message: Message,
  { status = "completed", logprobs = [] }: { readonly status?: string; readonly logprobs?: readonly object[] } = {},
): readonly OutputItem[] {
  const { toolCalls = [] } = message;
  const reasoning = reasoningOf(message);
  const text = textOf(message);
  const items: OutputItem[] = [];
  if (reasoning !== "") {
    items.push({
      id: `rs_${id}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: reasoning }],
      content: [{ type: "reasoning_text", text: reasoning }],
    });
  }
  if (text !== "" || toolCalls.length === 0) {
    const content = [{ type: "output_text" as const, text, annotations: [] as const, logprobs }];
    items.push({ id: `msg_${id}`, type: "message", role: "assistant", status, content });
  }
  for (const [index, { id: call_id, name, ...given }] of toolCalls.entries()) {
    const item = { id: `fc_${id}_${index}`, type: "function_call" as const, status, call_id, name };
    items.push({ ...item, arguments: writtenArguments(given) });
  }
  return items;
}
