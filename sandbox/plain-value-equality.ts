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
  return containerKey(value);
}

/** Lengths precede contents, so that keys of different values never coincide. */
function containerKey(value: Exclude<PlainValue, boolean>): string | undefined {
  if (value === null) return "null";
  if (typeof value === "string") return `s${value.length}:${value}`;
  const [kind, content] = Object.entries(value)[0] as [string, unknown];
  switch (kind) {
    case "list":
    case "tuple":
      return joined(kind, keysOf(content as readonly PlainValue[]));
    case "set":
    case "frozenset":
      return joined("set", keysOf(content as readonly PlainValue[])?.sort());
    case "dict": {
      const keys = (content as readonly (readonly PlainValue[])[]).map((entry) => joined("", keysOf(entry)));
      return keys.includes(undefined) ? undefined : joined(kind, (keys as string[]).sort());
    }
    default:
      return `${kind}:${String(content)}`;
  }
}

function keysOf(items: readonly PlainValue[]): string[] | undefined {
  const keys = items.map(pythonKey);
  return keys.includes(undefined) ? undefined : (keys as string[]);
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
