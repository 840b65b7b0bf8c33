import type { PlainValue } from "./plain-value.ts";

const integer = /^-?\d+$/;
const float = /^(?:-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf)|nan)$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const collections = ["list", "tuple", "set", "frozenset"];

/** True if parsed JSON is a plain value with containers nested at most `depth` levels deep. */
export function isPlainValue(value: unknown, depth: number): value is PlainValue {
  if (value === null || typeof value === "boolean" || typeof value === "string") return true;
  if (typeof value !== "object") return false;
  const keys = Object.keys(value);
  if (Array.isArray(value) || keys.length !== 1) return false;
  const kind = keys[0]!;
  const content: unknown = (value as Record<string, unknown>)[kind];
  if (collections.includes(kind)) return depth > 0 && isListOf(content, (item) => isPlainValue(item, depth - 1));
  switch (kind) {
    case "int":
      return isText(content, integer);
    case "float":
      return isText(content, float);
    case "complex":
      return isListOf(content, (part) => isText(part, float)) && content.length === 2;
    case "bytes":
      return isText(content, base64);
    case "dict": {
      const isInner = (item: unknown): boolean => isPlainValue(item, depth - 1);
      return depth > 0 && isListOf(content, (entry) => isListOf(entry, isInner) && entry.length === 2);
    }
    case "undefined":
      return content === true;
    default:
      return false;
  }
}

function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isItem);
}
