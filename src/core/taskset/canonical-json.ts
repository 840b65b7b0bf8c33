import { LyceumError } from "../../contract/errors/index.ts";
import { deepestRow } from "./row-problem.ts";

/**
 * Returns the canonical JSON text of a value: keys sorted by UTF-16 code unit, no white space, numbers as JavaScript
 * prints them (so 1, 1.0 and 1e0 are equal, and -0 is 0). Keys with an undefined value are left out. An object with
 * `toJSON` (such as a Date) is replaced by its result. Throws `data.malformed` with the path for values that JSON
 * cannot represent: NaN, infinities, bigints, functions, symbols, Maps, typed arrays, undefined in a list, a cycle, or
 * too deep nesting.
 */
export function canonicalJson(value: unknown): string {
  return write(value, "$", []);
}

function write(value: unknown, path: string, parents: readonly object[]): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw notJson(String(value), path);
      return JSON.stringify(value);
    case "object":
      return value === null ? "null" : writeObject(value, path, parents);
    default:
      throw notJson(typeof value === "undefined" ? "undefined" : `a ${typeof value}`, path);
  }
}

function writeObject(value: object, path: string, parents: readonly object[]): string {
  if (parents.includes(value)) throw notJson("a cycle", path);
  if (parents.length > deepestRow) throw notJson("too deeply nested lists or objects", path.slice(0, 60));
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, `${path}[${index}]`, inside)).join(",")}]`;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(), path, inside);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (tag !== "Object") throw notJson(`a ${tag}`, path);
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${write(member, `${path}.${key}`, inside)}`);
  }
  return `{${members.join(",")}}`;
}

function notJson(what: string, path: string): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `A task contains ${what} at ${path}, which JSON cannot represent.`,
    hint: "Use plain data for tasks: strings, finite numbers, booleans, null, lists and objects of these.",
    data: { path },
  });
}
