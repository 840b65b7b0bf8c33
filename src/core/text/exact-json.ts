import type { Json } from "../../contract/json.ts";

/**
 * What the reader does with an integer that a JavaScript number cannot hold: refuse it, or return its digits as a text.
 */
export type LargeIntegers = "refuse" | "text";

/**
 * Parses a JSON text without changing an integer: `JSON.parse` rounds those above 2^53. With `refuse`, an integer that
 * would change is a `SyntaxError` that names it. With `text`, it becomes the text of its digits, as in Parquet files.
 * Every reader of data rows and of a model's tool calls uses it.
 */
export function parseExactJson(text: string, largeIntegers: LargeIntegers = "refuse"): unknown {
  // Only a number of 16 digits or more can be such an integer. A reviver is slow.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const revive = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown => {
    if (typeof value !== "number" || source === undefined || !/^-?\d+$/.test(source)) return value;
    if (Number.isSafeInteger(value) || String(value) === source) return value;
    if (largeIntegers === "text") return source;
    throw new SyntaxError(`the integer ${source.slice(0, 40)} is beyond 2^53 and would become ${value}`);
  };
  // The third argument of a reviver is not in TypeScript's library yet.
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** The same as {@link parseExactJson}. Returns undefined if the text is not JSON, or if an integer would change. */
export function tryParseExactJson(text: string, largeIntegers: LargeIntegers = "refuse"): Json | undefined {
  try {
    return parseExactJson(text, largeIntegers) as Json;
  } catch {
    return undefined;
  }
}

/**
 * Returns true if `JSON.parse` changes the order of the keys of an object: it puts keys such as "10" first, ascending.
 */
export function reordersKeys(text: string): boolean {
  if (!/"(?:0|[1-9]\d{0,9})"\s*:/.test(text)) return false;
  const objects: { last: number; other: boolean }[] = [];
  for (const [token, key] of text.matchAll(/"((?:[^"\\]|\\.)*)"(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === "{") objects.push({ last: -1, other: false });
    else if (token === "}") objects.pop();
    else if (key !== undefined) {
      const object = objects.at(-1);
      if (object === undefined) continue;
      const isIndex = /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
      if (!isIndex) object.other = true;
      else if (object.other || Number(key) < object.last) return true;
      else object.last = Number(key);
    }
  }
  return false;
}
