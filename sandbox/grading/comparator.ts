import { match } from "ts-pattern";
import type { Language } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { readFloat } from "../plain-value-conversion.ts";
import { deepEqual, matchUp } from "../plain-value-deep-equality.ts";
import { pythonEqual, pythonKey } from "../plain-value-equality.ts";

/**
 * How a result is compared with the expected value. Each test has one.
 *
 * - `exact` (default): the language's own equality: Python's `==`, or JavaScript's `assert.deepStrictEqual`. In
 *   JavaScript, an int equals the float of the same value.
 * - `loose`: JavaScript's `assert.deepEqual`. In Python the same as `exact`.
 * - `strict`: the same types throughout, and the same values: 1, 1.0 and True differ.
 * - `unordered`: the same items in any order, in a list, a tuple or a set. Items are compared by `exact`.
 * - `close`: numbers anywhere in the value differ by at most `absolute`, or by at most `relative` times the larger one
 *   (both 0 by default). Everything else is compared by `exact`.
 * - `text`: strings that are equal except for white space at the ends of lines and empty lines at the end.
 * - `truthy`, `falsy`: the truth value of the result in its language. Nothing is expected.
 * - `custom`: a function of the caller. It must not throw.
 */
export type Comparator =
  | { readonly kind: "exact" | "loose" | "strict" | "unordered" | "text" | "truthy" | "falsy" }
  | { readonly kind: "close"; readonly absolute?: number; readonly relative?: number }
  | { readonly kind: "custom"; readonly compare: (got: PlainValue, expected: PlainValue) => boolean };

/** True if the result matches the expected value. */
export function isAsExpected(options: {
  readonly got: PlainValue;
  readonly expected: PlainValue;
  readonly language: Language;
  readonly comparator?: Comparator;
}): boolean {
  const { got, expected, language, comparator = { kind: "exact" } } = options;
  const exact = language === "python" ? pythonEqual : javascriptEqual;
  const loose = (): boolean => deepEqual(got, expected, { loose: true });
  return match(comparator)
    .with({ kind: "exact" }, () => exact(got, expected))
    .with({ kind: "loose" }, () => (language === "python" ? pythonEqual(got, expected) : loose()))
    .with({ kind: "strict" }, () => deepEqual(got, expected, { loose: false }))
    .with({ kind: "unordered" }, () => sameItems(got, expected, language))
    .with({ kind: "close" }, (tolerance) => isClose(got, expected, { ...tolerance, exact }))
    .with({ kind: "text" }, () => sameText(got, expected))
    .with({ kind: "truthy" }, () => isTruthy(got, language))
    .with({ kind: "falsy" }, () => !isTruthy(got, language))
    .with({ kind: "custom" }, ({ compare }) => compare(got, expected))
    .exhaustive();
}

function javascriptEqual(a: PlainValue, b: PlainValue): boolean {
  return deepEqual(a, b, { loose: false });
}

function sameItems(got: PlainValue, expected: PlainValue, language: Language): boolean {
  const [items, others] = [itemsOf(got), itemsOf(expected)];
  if (items === undefined || others === undefined || items.length !== others.length) return false;
  if (language !== "python") return matchUp(items, others, javascriptEqual);
  const [keys, otherKeys] = [items.map(pythonKey), others.map(pythonKey)];
  if (keys.includes(undefined)) return false;
  keys.sort();
  otherKeys.sort();
  return keys.every((key, i) => key === otherKeys[i]);
}

function itemsOf(value: PlainValue): readonly PlainValue[] | undefined {
  if (value === null || typeof value !== "object") return undefined;
  if ("list" in value) return value.list;
  if ("tuple" in value) return value.tuple;
  if ("set" in value) return value.set;
  return "frozenset" in value ? value.frozenset : undefined;
}

interface Tolerance {
  readonly absolute?: number;
  readonly relative?: number;
  readonly exact: (a: PlainValue, b: PlainValue) => boolean;
}

function isClose(got: PlainValue, expected: PlainValue, tolerance: Tolerance): boolean {
  const [a, b] = [asNumber(got), asNumber(expected)];
  if (a !== undefined && b !== undefined) {
    const { absolute = 0, relative = 0 } = tolerance;
    if (a === b) return true;
    if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
    const difference = Math.abs(a - b);
    return difference <= absolute || difference <= relative * Math.max(Math.abs(a), Math.abs(b));
  }
  if (a !== undefined || b !== undefined) return false;
  if (got === null || expected === null || typeof got !== "object" || typeof expected !== "object") {
    return tolerance.exact(got, expected);
  }
  if ("list" in got && "list" in expected) return areClose(got.list, expected.list, tolerance);
  if ("tuple" in got && "tuple" in expected) return areClose(got.tuple, expected.tuple, tolerance);
  if ("dict" in got && "dict" in expected) {
    return matchUp(got.dict, expected.dict, (x, y) => tolerance.exact(x[0], y[0]) && isClose(x[1], y[1], tolerance));
  }
  return tolerance.exact(got, expected);
}

function areClose(got: readonly PlainValue[], expected: readonly PlainValue[], tolerance: Tolerance): boolean {
  return got.length === expected.length && got.every((item, i) => isClose(item, expected[i]!, tolerance));
}

function asNumber(value: PlainValue): number | undefined {
  if (typeof value === "boolean") return Number(value);
  if (value === null || typeof value !== "object") return undefined;
  if ("int" in value) return Number(value.int);
  return "float" in value ? readFloat(value.float) : undefined;
}

function sameText(got: PlainValue, expected: PlainValue): boolean {
  return typeof got === "string" && typeof expected === "string" && trimLines(got) === trimLines(expected);
}

function trimLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

function isTruthy(value: PlainValue, language: Language): boolean {
  if (value === null || typeof value === "boolean" || typeof value === "string") return Boolean(value);
  if ("int" in value) return !/^-?0+$/.test(value.int);
  if ("undefined" in value) return false;
  const isPython = language === "python";
  if ("float" in value) {
    const number = readFloat(value.float);
    return number !== 0 && (isPython || !Number.isNaN(number));
  }
  if (!isPython) return true;
  if ("complex" in value) return value.complex.some((part) => readFloat(part) !== 0);
  const [content] = Object.values(value) as [string | readonly unknown[]];
  return content.length > 0;
}
