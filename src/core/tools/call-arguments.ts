import { isJsonObject, type Json } from "../../contract/json.ts";
import type { ToolCall } from "../../contract/message.ts";
import { exactText, type LargeIntegers, parseExactJson } from "../text/exact-json.ts";

/**
 * The arguments of a tool call, with their exact text if a JavaScript value cannot express them.
 *
 * @example
 * import type { CallArguments } from "lyceum/contract";
 * const read: CallArguments = { arguments: { celsius: 5 }, argumentsJson: '{"celsius":5.0}' };
 * read.argumentsJson; // => '{"celsius":5.0}'
 */
export type CallArguments = Pick<ToolCall, "arguments" | "argumentsJson">;

/**
 * Reads the arguments of a tool call as servers and data sets write them: an object or its JSON text. Nothing, a blank,
 * `null`, an empty list and an empty object are no arguments, also if `""` follows. A text in the JSON text is read once
 * more, and an empty object before another object is dropped. Throws a `SyntaxError` if the text is not JSON.
 * `argumentsJson` is the exact text of a given object, as data files and servers have it.
 *
 * @example
 * import { callArguments } from "lyceum/contract";
 * callArguments('{"celsius": 5.0}'); // => { arguments: { celsius: 5 }, argumentsJson: '{"celsius":5.0}' }
 */
export function callArguments(
  given: unknown,
  options: { readonly argumentsJson?: string | undefined; readonly largeIntegers?: LargeIntegers } = {},
): CallArguments {
  const { argumentsJson, largeIntegers } = options;
  const read = (text: string): CallArguments => {
    const json = objectText(text);
    const value = parseExactJson(json, largeIntegers) as Json;
    const exact = exactText(json);
    return { arguments: value, ...(exact === undefined ? {} : { argumentsJson: exact }) };
  };
  const text = argumentsJson ?? given;
  const call = typeof text === "string" ? read(text) : { arguments: (text ?? {}) as Json };
  const { arguments: value } = call;
  if (value === null || (Array.isArray(value) && value.length === 0)) return { arguments: {} };
  if (typeof value !== "string") return call;
  const inner = value.trim();
  if (inner === "" || inner === "null") return { arguments: {} };
  // A model may mean a text. Only a text that holds an object was encoded twice.
  return inner.startsWith("{") ? read(inner) : call;
}

/** Returns the JSON text of the arguments in a text that may be blank, or have `{}` before or `""` behind them. */
function objectText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "{}";
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch (error) {
    const joined = /^(?:\{\}\s*(?=\{))?([\s\S]*?)(?:\s*"")*$/.exec(trimmed)?.[1] ?? "";
    if (joined === trimmed || joined === "") throw error;
    const value = JSON.parse(joined) as Json;
    if (isJsonObject(value) || value === null || (Array.isArray(value) && value.length === 0)) return joined;
    throw error;
  }
}
