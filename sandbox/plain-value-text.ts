import type { Language } from "./execution.ts";
import type { PlainValue } from "./plain-value.ts";
import { readFloat } from "./plain-value-conversion.ts";

/**
 * Renders a plain value as source text of a language, for people and models. Text beyond `maxLength` UTF-16 code units
 * (200 by default) is cut and marked by "…". The work is proportional to the length of the output.
 */
export function showPlainValue(
  value: PlainValue,
  options: { readonly language: Language; readonly maxLength?: number },
): string {
  const { language, maxLength = 200 } = options;
  let text = "";
  for (const piece of language === "python" ? pythonPieces(value, maxLength) : javascriptPieces(value, maxLength)) {
    text += piece;
    if (text.length > maxLength) return `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`;
  }
  return text;
}

function* pythonPieces(value: PlainValue, budget: number): Generator<string> {
  if (value === null) yield "None";
  else if (typeof value === "boolean") yield value ? "True" : "False";
  else if (typeof value === "string") yield quote(value.slice(0, budget + 1));
  else if ("int" in value) yield value.int.slice(0, budget + 1);
  else if ("float" in value) yield pythonFloat(value.float);
  else if ("complex" in value) yield `complex(${value.complex.map(pythonFloat).join(", ")})`;
  else if ("bytes" in value) yield `b${quoteBytes(value.bytes, budget)}`;
  else if ("undefined" in value) yield "None";
  else if ("list" in value) yield* separated(["[", "]"], value.list, (item) => pythonPieces(item, budget));
  else if ("tuple" in value) {
    const close = value.tuple.length === 1 ? ",)" : ")";
    yield* separated(["(", close], value.tuple, (item) => pythonPieces(item, budget));
  } else if ("dict" in value) {
    yield* separated(["{", "}"], value.dict, function* ([key, item]) {
      yield* pythonPieces(key, budget);
      yield ": ";
      yield* pythonPieces(item, budget);
    });
  } else {
    const [name, items] = "set" in value ? ["set", value.set] : ["frozenset", value.frozenset];
    if (items.length === 0) yield `${name}()`;
    else {
      const ends: [string, string] = name === "set" ? ["{", "}"] : ["frozenset({", "})"];
      yield* separated(ends, items, (item) => pythonPieces(item, budget));
    }
  }
}

function* javascriptPieces(value: PlainValue, budget: number): Generator<string> {
  if (value === null || typeof value === "boolean") yield String(value);
  else if (typeof value === "string") yield JSON.stringify(value.slice(0, budget + 1));
  else if ("int" in value) yield `${value.int.slice(0, budget + 1)}n`;
  else if ("float" in value) yield javascriptFloat(value.float);
  else if ("complex" in value) yield `[${value.complex.map(javascriptFloat).join(", ")}]`;
  else if ("undefined" in value) yield "undefined";
  else if ("bytes" in value) yield `Uint8Array.from([${[...bytesOf(value.bytes, budget)].join(", ")}])`;
  else if ("dict" in value) {
    const isObject = value.dict.every(([key]) => typeof key === "string");
    yield* separated(isObject ? ["{", "}"] : ["new Map([", "])"], value.dict, function* ([key, item]) {
      if (!isObject) yield "[";
      if (isObject && typeof key === "string") yield propertyName(key, budget);
      else yield* javascriptPieces(key, budget);
      yield isObject ? ": " : ", ";
      yield* javascriptPieces(item, budget);
      if (!isObject) yield "]";
    });
  } else if ("set" in value || "frozenset" in value) {
    const items = "set" in value ? value.set : value.frozenset;
    yield* separated(["new Set([", "])"], items, (item) => javascriptPieces(item, budget));
  } else {
    const items = "list" in value ? value.list : value.tuple;
    yield* separated(["[", "]"], items, (item) => javascriptPieces(item, budget));
  }
}

function* separated<T>(
  [open, close]: readonly [string, string],
  items: readonly T[],
  piecesOf: (item: T) => Generator<string>,
): Generator<string> {
  yield open;
  for (const [i, item] of items.entries()) {
    if (i > 0) yield ", ";
    yield* piecesOf(item);
  }
  yield close;
}

function pythonFloat(text: string): string {
  if (/[nN]/.test(text)) return `float('${text}')`;
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function javascriptFloat(text: string): string {
  const number = readFloat(text);
  return Object.is(number, -0) ? "-0" : String(number);
}

/** Quotes a property name if needed. `{__proto__: x}` would set the prototype. */
function propertyName(key: string, budget: number): string {
  if (key === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key.slice(0, budget + 1) : JSON.stringify(key.slice(0, budget + 1));
}

/** Quotes text like Python's `repr`. Characters that may not be printable are escaped to ASCII. */
function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let quoted = "";
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (character === mark || character === "\\") quoted += `\\${character}`;
    else if (character in escapes) quoted += escapes[character as keyof typeof escapes];
    else if (code < 0x20 || (code >= 0x7f && code <= 0xa0)) quoted += `\\x${hex(code, 2)}`;
    else if (unprintable.test(character)) quoted += code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
    else quoted += character;
  }
  return mark + quoted + mark;
}

const escapes = { "\n": "\\n", "\r": "\\r", "\t": "\\t" } as const;
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;

function quoteBytes(base64: string, budget: number): string {
  let quoted = "";
  for (const byte of bytesOf(base64, budget)) {
    const character = String.fromCharCode(byte);
    if (character === "'" || character === "\\") quoted += `\\${character}`;
    else if (character in escapes) quoted += escapes[character as keyof typeof escapes];
    else quoted += byte >= 0x20 && byte < 0x7f ? character : `\\x${hex(byte, 2)}`;
  }
  return `'${quoted}'`;
}

function bytesOf(base64: string, budget: number): Buffer {
  return Buffer.from(base64.slice(0, 4 * (Math.ceil(budget / 3) + 1)), "base64");
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
