import type { PlainValue } from "./plain-value.ts";
import { readFloat } from "./plain-value-conversion.ts";

/**
 * Compares two values by Python's `==`: 1 == 1.0 == True and -0.0 == 0.0. nan is unequal to everything. The order of
 * dicts and sets does not matter. A set can equal a frozenset, but a list never equals a tuple. Values from two
 * processes are never the same object, so a list with nan is unequal to everything too.
 */
export function pythonEqual(a: PlainValue, b: PlainValue): boolean {
  const key = pythonKey(a);
  return key !== undefined && key === pythonKey(b);
}

/**
 * True if two values have the same types throughout and are the same: 1, 1.0 and True differ, 0.0 and -0.0 differ, and
 * nan equals nan. The order of dicts and sets does not matter.
 */
export function strictlyEqual(a: PlainValue, b: PlainValue): boolean {
  return strictKey(a) === strictKey(b);
}

/**
 * Returns a text that two values share if and only if Python's `==` is true. Undefined if nan makes that impossible.
 */
export function pythonKey(value: PlainValue): string | undefined {
  if (typeof value === "boolean") return value ? "n1" : "n0";
  if (value !== null && typeof value === "object") {
    if ("int" in value) return `n${integerKey(value.int)}`;
    if ("float" in value) return floatKey(value.float);
    if ("complex" in value) {
      const [real, imaginary] = [floatKey(value.complex[0]), floatKey(value.complex[1])];
      if (real === undefined || imaginary === undefined) return undefined;
      return imaginary === "n0" ? real : `c${real}${imaginary}`;
    }
  }
  return containerKey(value, pythonKey, { frozenset: "set" });
}

function strictKey(value: PlainValue): string {
  if (typeof value === "boolean") return String(value);
  if (value !== null && typeof value === "object") {
    if ("int" in value) return `i${integerKey(value.int)}`;
    if ("float" in value) return `f${exactFloat(value.float)}`;
    if ("complex" in value) return `c${value.complex.map(exactFloat).join("j")}`;
  }
  return containerKey(value, strictKey, {})!;
}

/** Shared by both keys. Lengths precede contents, so that keys of different values never coincide. */
function containerKey(
  value: Exclude<PlainValue, boolean>,
  keyOf: (value: PlainValue) => string | undefined,
  sameAs: Readonly<Record<string, string>>,
): string | undefined {
  if (value === null) return "null";
  if (typeof value === "string") return `s${value.length}:${value}`;
  const [kind, content] = Object.entries(value)[0] as [string, unknown];
  const name = sameAs[kind] ?? kind;
  switch (kind) {
    case "list":
    case "tuple":
    case "set":
    case "frozenset": {
      const keys = keysOf(content as readonly PlainValue[], keyOf);
      if (name === "set" || name === "frozenset") keys?.sort();
      return joined(name, keys);
    }
    case "dict": {
      const keys = (content as readonly (readonly PlainValue[])[]).map((entry) => joined("", keysOf(entry, keyOf)));
      return keys.includes(undefined) ? undefined : joined(name, (keys as string[]).sort());
    }
    default:
      return `${kind}:${String(content)}`;
  }
}

function keysOf(items: readonly PlainValue[], keyOf: (value: PlainValue) => string | undefined): string[] | undefined {
  const keys: string[] = [];
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) return undefined;
    keys.push(key);
  }
  return keys;
}

function joined(name: string, keys: readonly string[] | undefined): string | undefined {
  return keys === undefined
    ? undefined
    : `${name}${keys.length}(${keys.map((key) => `${key.length}:${key}`).join("")})`;
}

function integerKey(digits: string): string {
  const sign = digits.startsWith("-") ? "-" : "";
  const stripped = digits.slice(sign.length).replace(/^0+(?=\d)/, "");
  return stripped === "0" ? "0" : sign + stripped;
}

function floatKey(text: string): string | undefined {
  const number = readFloat(text);
  if (Number.isNaN(number)) return undefined;
  return Number.isInteger(number) ? `n${BigInt(number)}` : `n${number}`;
}

function exactFloat(text: string): string {
  const number = readFloat(text);
  return Object.is(number, -0) ? "-0" : String(number);
}
