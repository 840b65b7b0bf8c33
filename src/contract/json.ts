/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object: what has keys. */
export type JsonObject = { readonly [key: string]: Json };

/** Whether a value has keys: neither a plain value nor a list. What its keys hold is not looked at. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value that a JSON text says, taken on trust to be a `T`; undefined for a text that is no JSON. */
export function tryParseJson<T = unknown>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
