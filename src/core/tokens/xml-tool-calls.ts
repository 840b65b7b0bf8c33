import { isJsonObject, type Json, tryParseJson } from "../../contract/json.ts";
import type { ToolSpec } from "../../contract/message.ts";
import { type CallArguments, callArguments } from "../tools/call-arguments.ts";

/** A call in XML: its name, and its arguments as written. */
interface WrittenCall {
  readonly name: string;
  readonly values: readonly (readonly [key: string, text: string])[];
}

/**
 * A call in XML between `<tool_call>` and `</tool_call>`. An end tag inside a value does not end the call. The groups
 * are the inner text and the end tag.
 */
export const xmlCallPattern =
  /<tool_call>(\s*<function=(?:(?!<tool_call>)[\s\S])*?<\/function>\s*|(?:(?!<tool_call>)[\s\S])*?<\/arg_value>\s*|[\s\S]*?)(<\/tool_call>|$)/g;

/**
 * Reads the inner text of a call in the form of Qwen3.5 (`<function=name>` and `<parameter=key>` around each value) or
 * of GLM (the name, then pairs of `<arg_key>` and `<arg_value>`). XML has no types: values get those of the tool's
 * schema, and without a schema a value is JSON if it can be. Returns a problem as a string.
 */
export function readXmlCall(
  inner: string,
  tools: readonly ToolSpec[],
): ({ readonly name: string } & CallArguments) | string {
  const call = /^\s*<function=/.test(inner) ? readFunction(inner) : readPairs(inner);
  if (typeof call === "string") return call;
  const parameters = tools.find(({ name }) => name === call.name)?.parameters;
  const schemas = isJsonObject(parameters) && isJsonObject(parameters.properties) ? parameters.properties : {};
  const entries = call.values.map(([key, text]) => {
    return `${JSON.stringify(key)}:${typedJson(text, Object.hasOwn(schemas, key) ? schemas[key] : undefined)}`;
  });
  try {
    return { name: call.name, ...callArguments(`{${entries.join(",")}}`) };
  } catch (error) {
    return `the tool call has an argument that cannot be read: ${(error as Error).message}`;
  }
}

function readFunction(inner: string): WrittenCall | string {
  const [, name, body] = /^\s*<function=([^>\s]+)>([\s\S]*)<\/function>\s*$/.exec(inner) ?? [];
  if (name === undefined) return "the tool call has no whole <function=...> element";
  const parameter = /<parameter=([^>]+)>\n?([\s\S]*?)\n?<\/parameter>(?=\s*(?:<parameter=|$))/g;
  return readValues({ name, body: body!, pattern: parameter });
}

function readPairs(inner: string): WrittenCall | string {
  const [, name, body] = /^\s*([^<>\s{}"]+)\s*(<arg_key>[\s\S]*)?$/.exec(inner) ?? [];
  if (name === undefined) return "the tool call has no name";
  const pair = /<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>(?=\s*(?:<arg_key>|$))/g;
  return readValues({ name, body: body ?? "", pattern: pair });
}

function readValues(options: {
  readonly name: string;
  readonly body: string;
  readonly pattern: RegExp;
}): WrittenCall | string {
  const { name, body, pattern } = options;
  const rest = body.replace(pattern, "").trim();
  if (rest !== "") return `the tool call has text outside of its arguments: ${JSON.stringify(rest.slice(0, 80))}`;
  const values = [...body.matchAll(pattern)].map(([, key, text]) => [key!.trim(), text!] as const);
  if (new Set(values.map(([key]) => key)).size < values.length) return "the tool call has an argument twice";
  return { name, values };
}

/** Returns the JSON of the value that a text means. Templates also write Python's `True`, `False` and `None`. */
function typedJson(text: string, schema: unknown): string {
  const types = typesOf(schema);
  const written = text.trim();
  const python: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };
  const json = Object.hasOwn(python, written) ? python[written]! : written;
  const value = tryParseJson<Json>(json);
  if (value === undefined || (types.length > 0 && types.every((type) => type === "string")))
    return JSON.stringify(text);
  const isAllowed = types.length === 0 || types.some((type) => hasType(value, type));
  return isAllowed || !types.includes("string") ? json : JSON.stringify(text);
}

function typesOf(schema: unknown): string[] {
  if (!isJsonObject(schema)) return [];
  const { type, anyOf, oneOf, enum: choices, const: only } = schema;
  if (type !== undefined) return (Array.isArray(type) ? type : [type]).map(String);
  const options = [anyOf, oneOf].filter(Array.isArray).flat();
  if (options.length > 0) return options.flatMap(typesOf);
  const values = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  return values.map((value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value));
}

function hasType(value: Json, type: string): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
