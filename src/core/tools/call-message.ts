import type { Json } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";

/** A tool call of a demonstration: the name of the tool, and its arguments if it has any. */
export type DemonstratedCall = readonly [name: string, input?: { readonly [key: string]: Json }];

/**
 * Creates an assistant message with tool calls, for demonstrations. `callMessage(["look"])` has one call,
 * `callMessage(["take", { item: "key" }], ["look"])` has two.
 *
 * @example
 * import { callMessage } from "lyceum";
 * const { toolCalls } = callMessage(["take", { item: "key" }], ["look"]);
 * toolCalls?.map(({ name }) => name); // => ["take", "look"]
 */
export function callMessage(...calls: readonly DemonstratedCall[]): Message {
  const toolCalls = calls.map(([name, input = {}], index) => ({ id: `call_${index}`, name, arguments: input }));
  return { role: "assistant", content: [], toolCalls };
}
