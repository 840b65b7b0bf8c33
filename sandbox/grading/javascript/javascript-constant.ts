import type { PlainValue } from "../../plain-value.ts";
import { plainFloat } from "../../plain-value-conversion.ts";

/** A constant and the offset of its end. */
export interface ReadConstant {
  readonly value: PlainValue;
  readonly end: number;
}

const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const number =
  /[+-]?(?:0[xX][\da-fA-F]+n?|0[oO][0-7]+n?|0[bB][01]+n?|(?:0|[1-9](?:_?\d)*)n|(?:(?:0|[1-9](?:_?\d)*)(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d+)?|Infinity|NaN)(?![\w$.])/y;
const word = /(?:null|true|false|undefined)(?![\w$])/y;
const name = /[A-Za-z_$][\w$]*/y;
const string = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const maxDepth = 200;

/**
 * Reads a JavaScript constant at an offset: number, bigint, string and boolean literals, `null`, `undefined`, and
 * arrays and objects of constants. Undefined for anything else. A string may contain a line break. JavaScript forbids
 * that, but one of MultiPL-E's tests has one.
 */
export function readJavascriptConstant(source: string, offset: number): ReadConstant | undefined {
  return read(source, skipBlank(source, offset), 0);
}

/** Returns the offset after white space and comments. */
export function skipBlank(source: string, offset: number): number {
  return offset + match(blank, source, offset)!.length;
}

function read(source: string, at: number, depth: number): ReadConstant | undefined {
  if (depth > maxDepth) return undefined;
  const first = source[at];
  if (first === "[") return readArray(source, at + 1, depth + 1);
  if (first === "{") return readObject(source, at + 1, depth + 1);
  if (first === '"' || first === "'") return readString(source, at);
  const literal = match(word, source, at);
  if (literal !== undefined) {
    const values: Record<string, PlainValue> = { null: null, true: true, false: false, undefined: { undefined: true } };
    return { value: values[literal]!, end: at + literal.length };
  }
  return readNumber(source, at);
}

function readNumber(source: string, at: number): ReadConstant | undefined {
  const text = match(number, source, at);
  if (text === undefined) return undefined;
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1 : 1;
  const digits = plain.replace(/^[+-]/, "");
  const end = at + text.length;
  if (!digits.endsWith("n")) {
    return { value: plainFloat(sign * Number(digits)), end };
  }
  // +1n is an error.
  if (plain.startsWith("+")) return undefined;
  return { value: { int: String(BigInt(sign) * BigInt(digits.slice(0, -1))) }, end };
}

function readString(source: string, at: number): ReadConstant | undefined {
  const text = match(string, source, at);
  const value = text === undefined ? undefined : withoutEscapes(text.slice(1, -1));
  return text === undefined || value === undefined ? undefined : { value, end: at + text.length };
}

const simple: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\n": "" };
const escapeSequence = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([\s\S]))/g;

function withoutEscapes(body: string): string | undefined {
  let isValid = true;
  const text = body.replace(escapeSequence, (_, byte, four, many, other) => {
    const digits: string | undefined = byte ?? four ?? many;
    if (digits !== undefined) {
      const code = Number.parseInt(digits, 16);
      if (code <= 0x10ffff) return String.fromCodePoint(code);
    }
    if (digits !== undefined || /[xu\d\r\u2028\u2029]/.test(other)) isValid = false;
    return simple[other] ?? other;
  });
  return isValid ? text : undefined;
}

function readArray(source: string, from: number, depth: number): ReadConstant | undefined {
  const list: PlainValue[] = [];
  for (let at = skipBlank(source, from); ; ) {
    if (source[at] === "]") return { value: { list }, end: at + 1 };
    const item = read(source, at, depth);
    if (item === undefined) return undefined;
    list.push(item.value);
    at = skipBlank(source, item.end);
    if (source[at] === ",") at = skipBlank(source, at + 1);
    else if (source[at] !== "]") return undefined;
  }
}

function readObject(source: string, from: number, depth: number): ReadConstant | undefined {
  const entries = new Map<string, PlainValue>();
  for (let at = skipBlank(source, from); ; ) {
    if (source[at] === "}") return { value: { dict: ordered(entries) }, end: at + 1 };
    const key = readKey(source, at);
    if (key === undefined) return undefined;
    at = skipBlank(source, key.end);
    // The key would set the prototype.
    if (source[at] !== ":" || key.text === "__proto__") return undefined;
    const item = read(source, skipBlank(source, at + 1), depth);
    if (item === undefined) return undefined;
    entries.set(key.text, item.value);
    at = skipBlank(source, item.end);
    if (source[at] === ",") at = skipBlank(source, at + 1);
    else if (source[at] !== "}") return undefined;
  }
}

function readKey(source: string, at: number): { readonly text: string; readonly end: number } | undefined {
  const plain = match(name, source, at);
  if (plain !== undefined) return { text: plain, end: at + plain.length };
  const quoted = source[at] === '"' || source[at] === "'" ? readString(source, at) : readNumber(source, at);
  if (quoted === undefined) return undefined;
  const { value, end } = quoted;
  if (typeof value === "string") return { text: value, end };
  const isUnsigned = value !== null && typeof value === "object" && "float" in value && !/[+-]/.test(source[at]!);
  return isUnsigned ? { text: String(Number(value.float)), end } : undefined;
}

/** Orders entries as JavaScript objects do: whole numbers first, ascending. */
function ordered(entries: ReadonlyMap<string, PlainValue>): (readonly [string, PlainValue])[] {
  return Object.entries(Object.fromEntries(entries));
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
