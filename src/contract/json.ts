/**
 * A value that survives `JSON.parse(JSON.stringify(value))` unchanged.
 *
 * @example
 * import type { Json } from "lyceum";
 * const info: Json = { attempts: 2, notes: ["too long"] };
 * JSON.parse(JSON.stringify(info)); // => { attempts: 2, notes: ["too long"] }
 */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** True if a value is an object and not a list. Does not check the values of its keys. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON text. Does not check that the value is a `T`. Returns undefined if the text is not valid JSON. */
export function tryParseJson<T = unknown>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
