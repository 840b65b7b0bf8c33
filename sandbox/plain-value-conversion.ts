import { LyceumError } from "../src/contract/errors/index.ts";
import type { Language } from "./execution.ts";
import type { PlainValue } from "./plain-value.ts";

const maxDepth = 1_000;

/**
 * Converts a JavaScript value to the plain value that code in `language` receives. Numbers become floats, except that
 * safe integers become ints for Python. Bigints become ints. Arrays become lists, plain objects and Maps become dicts,
 * Sets become sets, and Uint8Arrays become bytes. Throws `data.malformed` with the path for anything else (functions,
 * symbols, class instances).
 */
export function toPlainValue(value: unknown, language: Language): PlainValue {
  return convert(value, language, "$", 0);
}

/** Returns a number as a plain float. */
export function plainFloat(number: number): PlainValue {
  if (Number.isNaN(number)) return { float: "nan" };
  if (!Number.isFinite(number)) return { float: number > 0 ? "inf" : "-inf" };
  return { float: Object.is(number, -0) ? "-0.0" : String(number) };
}

/** Parses the text of a plain float. */
export function readFloat(text: string): number {
  if (text === "inf") return Number.POSITIVE_INFINITY;
  if (text === "-inf") return Number.NEGATIVE_INFINITY;
  return Number(text);
}

function convert(value: unknown, language: Language, path: string, depth: number): PlainValue {
  if (depth > maxDepth) throw notPlain("something nested too deeply, or in a cycle", "$");
  const inner = (item: unknown, place: string): PlainValue => convert(item, language, `${path}${place}`, depth + 1);
  switch (typeof value) {
    case "boolean":
    case "string":
      return value;
    case "undefined":
      return language === "python" ? null : { undefined: true };
    case "bigint":
      return { int: String(value) };
    case "number":
      return language === "python" && Number.isSafeInteger(value) && !Object.is(value, -0)
        ? { int: String(value) }
        : plainFloat(value);
    case "object":
      return value === null ? null : convertObject(value, path, inner);
    default:
      throw notPlain(`a ${typeof value}`, path);
  }
}

function convertObject(value: object, path: string, inner: (item: unknown, place: string) => PlainValue): PlainValue {
  if (Array.isArray(value)) return { list: Array.from(value, (item, i) => inner(item, `[${i}]`)) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Set) return { set: Array.from(value, (item) => inner(item, "{}")) };
  if (value instanceof Map) {
    return { dict: Array.from(value, ([key, item]) => [inner(key, "{}"), inner(item, "{}")] as const) };
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw notPlain("an instance of a class", path);
  return { dict: Object.entries(value).map(([key, item]) => [key, inner(item, `.${key}`)] as const) };
}

function notPlain(what: string, path: string): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `A value contains ${what} at ${path}, which cannot be passed to a sandbox.`,
    hint: "Use null, booleans, numbers, bigints, strings, arrays, plain objects, Maps, Sets and Uint8Arrays.",
    data: { path },
  });
}
