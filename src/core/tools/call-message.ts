import type { Json } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";

/** A call as a demonstration writes it: the name of the tool, and its arguments if it takes any. */
export type DemonstratedCall = readonly [name: string, input?: { readonly [key: string]: Json }];

/**
 * An assistant's message that calls tools, for demonstrations: `callMessage(["look"])` makes one call,
 * `callMessage(["take", { item: "key" }], ["look"])` makes two.
 */
export function callMessage(...calls: readonly DemonstratedCall[]): Message {
  const toolCalls = calls.map(([name, input = {}], index) => ({ id: `call_${index}`, name, arguments: input }));
  return { role: "assistant", content: [], toolCalls };
}
