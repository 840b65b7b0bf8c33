import type { Json } from "../../contract/json.ts";
import { pythonFloat } from "../tokens/python-values.ts";

/**
 * What the reader does with an integer that a JavaScript number cannot hold: refuse it, or return its digits as a text.
 */
export type LargeIntegers = "refuse" | "text";

/**
 * Parses a JSON text without changing an integer: `JSON.parse` rounds those above 2^53. With `refuse`, an integer that
 * would change is a `SyntaxError` that names it. With `text`, it becomes the text of its digits, as in Parquet files.
 * Every reader of data rows and of a model's tool calls uses it. Decimals with more digits than a number has are
 * rounded, as everywhere, except with `decimals: "text"`, for labels.
 */
export function parseExactJson(
  text: string,
  largeIntegers: LargeIntegers = "refuse",
  decimals: "round" | "text" = "round",
): unknown {
  // Only a number of 16 digits or more can change. A reviver is slow.
  if (!/[\d.]{16}/.test(text)) return JSON.parse(text);
  const revive = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown => {
    if (typeof value !== "number" || source === undefined) return value;
    if (!/^-?\d+$/.test(source)) return decimals === "text" && isRounded(source) ? source : value;
    if (Number.isSafeInteger(value) || String(value) === source) return value;
    if (largeIntegers === "text") return source;
    throw new SyntaxError(`the integer ${source.slice(0, 40)} is beyond 2^53 and would become ${value}`);
  };
  // The third argument of a reviver is not in TypeScript's library yet.
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** Returns true if no number is printed as this decimal, however many digits are printed. */
function isRounded(decimal: string): boolean {
  const digits = digitsOf(decimal);
  if (digits.length <= 15) return false;
  if (digits.length > 100) return true;
  const value = Number(decimal);
  return digitsOf(String(value)) !== digits && digitsOf(value.toExponential(digits.length - 1)) !== digits;
}

/** Returns the digits of a decimal without its sign, point, exponent and outer zeros. */
function digitsOf(decimal: string): string {
  return decimal
    .replace(/e.*$/i, "")
    .replace(/[-.]/g, "")
    .replace(/^0+|0+$/g, "");
}

/** The same as {@link parseExactJson}. Returns undefined if the text is not JSON, or if an integer would change. */
export function tryParseExactJson(text: string, largeIntegers: LargeIntegers = "refuse"): Json | undefined {
  try {
    return parseExactJson(text, largeIntegers) as Json;
  } catch {
    return undefined;
  }
}

/** A number of a JSON text as Python's `json` writes it: an integer with all its digits, or a float such as `5.0`. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON value that keeps what JavaScript's values lose: integers, the type of numbers, and the order of keys. */
export type ExactJson = null | boolean | string | JsonNumber | readonly ExactJson[] | ReadonlyMap<string, ExactJson>;

const strings = String.raw`"(?:[^"\\]|\\.)*"`;

/** Parses a JSON text as Python's `json` does. Throws a `SyntaxError`, also for a number that is too large for a float. */
export function readExactJson(text: string): ExactJson {
  JSON.parse(text);
  // As texts with a first letter, keys keep their order and numbers their digits.
  const lettered = text.replace(
    new RegExp(String.raw`(${strings})(\s*:)?|-?\d[\d.eE+-]*`, "gs"),
    (token, string, colon) => {
      if (string === undefined) return `"n${token}"`;
      return `"s${string.slice(1)}${colon ?? ""}`;
    },
  );
  const value = (part: unknown): ExactJson => {
    if (Array.isArray(part)) return part.map(value);
    if (typeof part === "string")
      return part.startsWith("n") ? new JsonNumber(numberText(part.slice(1))) : part.slice(1);
    if (typeof part !== "object" || part === null) return part as null | boolean;
    return new Map(Object.entries(part).map(([key, item]) => [key.slice(1), value(item)]));
  };
  return value(JSON.parse(lettered));
}

function numberText(written: string): string {
  if (/^-?\d+$/.test(written)) return String(BigInt(written));
  if (!Number.isFinite(Number(written))) throw new SyntaxError(`the number ${written.slice(0, 40)} is too large`);
  return pythonFloat(Number(written));
}

/** Writes a value as compact JSON. */
export function writeExactJson(value: ExactJson): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeExactJson).join(",")}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  return `{${[...(value as ReadonlyMap<string, ExactJson>)]
    .map(([key, item]) => `${JSON.stringify(key)}:${writeExactJson(item)}`)
    .join(",")}}`;
}

/** `JSON.rawJSON` is not in TypeScript's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/**
 * Returns a value that `JSON.stringify` writes as a JSON text: integers with all digits, and floats such as `5.0`. Use it
 * for what is only written again, because a number that would change is an opaque object. The order of keys is that of
 * a JavaScript object.
 */
export function writtenAs(text: string): unknown {
  const value = (part: ExactJson): unknown => {
    if (part instanceof JsonNumber) return keepsValue(part.text) ? Number(part.text) : rawJSON(part.text);
    if (Array.isArray(part)) return part.map(value);
    if (!(part instanceof Map)) return part;
    return Object.fromEntries([...(part as ReadonlyMap<string, ExactJson>)].map(([key, item]) => [key, value(item)]));
  };
  return value(readExactJson(text));
}

/**
 * Returns true if `JSON.parse` keeps what Python's `json` shows of a text: the order of keys, all digits of integers,
 * and floats as floats. It loses the `.0` of `5.0`.
 */
export function keepsValue(text: string): boolean {
  // Schemas drop the key `__proto__`.
  if (reordersKeys(text) || /"__proto__"\s*:/.test(text)) return false;
  // Most texts have no number that can change.
  if (!/\d\.0|[\d.]{16}|\d[eE]|-0/.test(text)) return true;
  for (const [token] of text.matchAll(new RegExp(String.raw`${strings}|-?\d[\d.eE+-]*`, "gs"))) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    const isInteger = /^-?\d+$/.test(token);
    // JavaScript writes a float of 1e21 or more with an exponent, as Python does.
    const isWhole = Number.isInteger(value) && Math.abs(value) < 1e21;
    if (isInteger ? String(value) !== token : isWhole || !Number.isFinite(value) || isRounded(token)) return false;
  }
  return true;
}

/** Returns the exact text of a JSON text that `JSON.parse` would change. Undefined for the others. */
export function exactText(text: string): string | undefined {
  return keepsValue(text) ? undefined : writeExactJson(readExactJson(text));
}

/** The values that templates render again, by the list that contains them. */
type RenderedValues = Readonly<Record<string, readonly string[]>>;

/** Those of messages in OpenAI's protocol. */
const messageValues: RenderedValues = { tool_calls: ["arguments"], tools: ["parameters"] };

/** Those of requests in all protocols: Anthropic's calls are parts of a content. */
const requestValues: RenderedValues = {
  ...{ tool_calls: ["arguments"], tools: ["parameters", "input_schema"], content: ["input"] },
};

/**
 * Parses a JSON text that may contain messages, such as a row or the answer of a server. With `exact`, numbers that would
 * change are texts of their digits. Templates print the arguments of calls, the parameters of tools and `chat_template_kwargs`
 * again: next to such an object that would change is its exact text, as `argumentsJson`, `parametersJson` and
 * `chat_template_kwargsJson`.
 */
export function parseMessagesJson(text: string, numbers: "exact" | "rounded"): unknown {
  const isPlain = !/"(?:tool_calls|tools|chat_template_kwargs)"\s*:/.test(text) || keepsValue(text);
  const whole = numbers === "exact" ? parseExactJson(text, "text", "text") : JSON.parse(text);
  return isPlain ? whole : withExactTexts(whole, readExactJson(text), messageValues);
}

/**
 * Adds exact texts to the parsed body of a request to a model, as {@link parseMessagesJson} does: `argumentsJson`,
 * `parametersJson`, `input_schemaJson` of a tool and `inputJson` of a call in Anthropic's protocol.
 */
export function withRequestTexts(body: unknown, text: string): unknown {
  if (!/"(?:tool_calls|tools|input)"\s*:/.test(text) || keepsValue(text)) return body;
  return withExactTexts(body, readExactJson(text), requestValues);
}

function withExactTexts(
  value: unknown,
  exact: ExactJson,
  rendered: RenderedValues,
  within: readonly string[] = [],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, i) => withExactTexts(item, (exact as ExactJson[])[i]!, rendered, within));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const part = (exact as ReadonlyMap<string, ExactJson>).get(key)!;
      const isRendered = part instanceof Map && (key === "chat_template_kwargs" || within.includes(key));
      if (!isRendered) return [[key, withExactTexts(item, part, rendered, rendered[key] ?? within)]];
      const written = writeExactJson(part);
      const inner = parseExactJson(written, "text");
      const own = exactText(written);
      return own === undefined
        ? [[key, inner]]
        : [
            [key, inner],
            [`${key}Json`, own],
          ];
    }),
  );
}

/**
 * Returns true if `JSON.parse` changes the order of the keys of an object: it puts keys such as "10" first, ascending.
 */
export function reordersKeys(written: string): boolean {
  // A digit may be written as an escape.
  const text = written.replace(/(?<!\\)((?:\\\\)*)\\u003(\d)/g, "$1$2");
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
