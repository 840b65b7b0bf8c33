import { isJsonObject, type Json } from "../../../contract/json.ts";
import { parseExactJson } from "../../text/exact-json.ts";

/**
 * Reads the arguments of a tool call as servers write them: an object or its JSON text. Nothing, a blank, `null`, an
 * empty list and an empty object are no arguments, also if `""` follows. A text in the JSON text is read once more,
 * and an empty object before another object is dropped. Throws a `SyntaxError` if the text is not JSON.
 */
export function callArguments(given: unknown): Json {
  const value = typeof given === "string" ? parsedText(given) : ((given ?? {}) as Json);
  if (value === null || (Array.isArray(value) && value.length === 0)) return {};
  if (typeof value !== "string") return value;
  const inner = value.trim();
  if (inner === "") return {};
  // A model may mean a text. Only a text that holds an object was encoded twice.
  if (!inner.startsWith("{")) return value;
  return parsedText(inner);
}

function parsedText(text: string): Json {
  const trimmed = text.trim();
  if (trimmed === "") return {};
  try {
    return parseExactJson(trimmed) as Json;
  } catch (error) {
    const joined = /^(?:\{\}\s*(?=\{))?([\s\S]*?)(?:\s*"")*$/.exec(trimmed)?.[1] ?? "";
    if (joined === trimmed || joined === "") throw error;
    const value = parseExactJson(joined) as Json;
    if (isJsonObject(value) || value === null || (Array.isArray(value) && value.length === 0)) return value;
    throw error;
  }
}
