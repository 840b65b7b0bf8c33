/** Describes a value briefly for an error: `1`, `"yes"`, `a Promise`, `an object with the key reword`. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "symbol") return value.toString();
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  if (isPromise(value)) return "a Promise";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (Symbol.asyncIterator in value) return "an async generator";
  if (Symbol.iterator in value) return "a generator or another iterable";
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  return `an object with the key${keys.length === 1 ? "" : "s"} ${keys.slice(0, 6).join(", ")}`;
}

/** True if a value is a promise or another object with a `then` method. */
export function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
