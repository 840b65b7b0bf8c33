import type { PlainValue } from "./plain-value.ts";
import { readFloat } from "./plain-value-conversion.ts";

/**
 * Compares two values as JavaScript tests do: like Node's `assert.deepStrictEqual`, or with `loose` like its
 * `assert.deepEqual`, which compares primitives by `==` (and NaN equals NaN). Objects and Maps are both dicts here.
 */
export function deepEqual(a: PlainValue, b: PlainValue, options: { readonly loose: boolean }): boolean {
  if (isPrimitive(a) || isPrimitive(b)) {
    return isPrimitive(a) && isPrimitive(b) && primitivesEqual(primitive(a), primitive(b), options.loose);
  }
  const [kind, left] = contents(a);
  const [otherKind, right] = contents(b);
  if (kind !== otherKind) return false;
  if (typeof left === "string" || typeof right === "string") return left === right;
  if (left.length !== right.length) return false;
  const equal = (x: PlainValue, y: PlainValue): boolean => deepEqual(x, y, options);
  if (kind === "dict") return matchUp(left, right, (x, y) => equal(x[0]!, y[0]!) && equal(x[1]!, y[1]!));
  const [items, others] = [left.map((entry) => entry[0]!), right.map((entry) => entry[0]!)];
  return kind === "set" || kind === "frozenset"
    ? matchUp(items, others, equal)
    : items.every((item, i) => equal(item, others[i]!));
}

/** True if two lists contain the same items in any order. Pairs at the same index are tried first. */
export function matchUp<T>(left: readonly T[], right: readonly T[], equal: (a: T, b: T) => boolean): boolean {
  if (left.length !== right.length) return false;
  const rest = [...right];
  return left.every((item) => {
    const place = rest.findIndex((other) => equal(item, other));
    if (place !== -1) rest.splice(place, 1);
    return place !== -1;
  });
}

type Container = Exclude<PlainValue, Primitive>;
type Primitive =
  | null
  | boolean
  | string
  | { readonly int: string }
  | { readonly float: string }
  | { readonly undefined: true };

function isPrimitive(value: PlainValue): value is Primitive {
  return value === null || typeof value !== "object" || "int" in value || "float" in value || "undefined" in value;
}

function primitive(value: Primitive): unknown {
  if (value === null || typeof value !== "object") return value;
  if ("int" in value) return BigInt(value.int);
  return "float" in value ? readFloat(value.float) : undefined;
}

function primitivesEqual(a: unknown, b: unknown, loose: boolean): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: what assert.deepEqual means.
  return Object.is(a, b) || (loose && a == b);
}

/** Returns the kind of a container and its entries. An entry is one item, or a key and an item. */
function contents(value: Container): readonly [string, string | readonly (readonly PlainValue[])[]] {
  const [kind, content] = Object.entries(value)[0] as [string, unknown];
  if (kind === "bytes") return [kind, content as string];
  if (kind === "complex") return [kind, (content as readonly string[]).map((float) => [{ float }])];
  if (kind === "dict") return [kind, content as readonly (readonly PlainValue[])[]];
  return [kind, (content as readonly PlainValue[]).map((item) => [item])];
}
