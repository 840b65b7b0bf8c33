import type { z } from "zod";
import { unknownNameError } from "../../contract/errors/index.ts";
import { maxProblems } from "./config-problem.ts";
import { knownKeys } from "./schema-walk.ts";

/**
 * A problem that a schema found, with the path of the wrong key. The path of an unknown key is its own, not its
 * parent's.
 */
export interface SchemaProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string;
}

type Issue = z.core.$ZodIssue;

/** Converts Zod's issues to plain words. Suggests the nearest known name for unknown keys and choices. */
export function schemaProblems(schema: z.core.$ZodType, value: unknown, issues: readonly Issue[]): SchemaProblem[] {
  return issues.flatMap((issue) => problemsOf(schema, value, issue));
}

function problemsOf(schema: z.core.$ZodType, value: unknown, issue: Issue): SchemaProblem[] {
  const { path } = issue;
  const actual = valueAt(value, path);
  const name = path.map(String).join(".") || "the config";
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = knownKeys(schema, value, path);
      const inside = path.length === 0 ? "" : ` in ${name}`;
      return issue.keys.map((key, place) => ({
        path: [...path, key],
        message: `unknown key "${key}"${inside}`,
        hint: known && place < maxProblems ? unknownNameError({ kind: "key", name: key, known }).hint : undefined,
      }));
    }
    case "invalid_type":
    case "invalid_value": {
      if (actual === undefined) return [{ path, message: `${name} is missing; ${expectation(issue)}` }];
      const known = issue.code === "invalid_value" && issue.values.length > 1 ? issue.values.map(String) : [];
      return [choiceProblem(path, `${name}: ${expectation(issue)}, got ${describeValue(actual)}`, actual, known)];
    }
    case "invalid_union": {
      if (issue.discriminator !== undefined) {
        const known = "options" in issue ? (issue.options ?? []).map(String) : [];
        if (actual === undefined) {
          return [{ path, message: `${name} is missing; expected one of ${known.join(", ")}` }];
        }
        return [choiceProblem(path, `${name}: unknown value ${describeValue(actual)}`, actual, known)];
      }
      // A branch whose own type fits has its problems deeper inside. These are the ones the user needs.
      const fitting = issue.errors.filter((errors) =>
        errors.every((error) => error.path.length > 0 || error.code === "unrecognized_keys"),
      );
      if (fitting.length === 1) {
        return fitting[0]!.flatMap((error) => problemsOf(schema, value, { ...error, path: [...path, ...error.path] }));
      }
      const branches = issue.errors.flatMap((errors) => errors.slice(0, 1).map(expectation));
      const expected = `expected ${[...new Set(branches)].map((text) => text.replace(/^expected /, "")).join(" or ")}`;
      if (actual === undefined) return [{ path, message: `${name} is missing; ${expected}` }];
      return [{ path, message: `${name}: ${expected}, got ${describeValue(actual)}` }];
    }
    case "custom":
      return [{ path, message: `${name}: ${issue.message}` }];
    default:
      return [{ path, message: `${name}: ${expectation(issue)}, got ${describeValue(actual)}` }];
  }
}

function choiceProblem(
  path: readonly PropertyKey[],
  message: string,
  actual: unknown,
  known: readonly string[],
): SchemaProblem {
  if (known.length === 0 || typeof actual !== "string") return { path, message };
  return { path, message, hint: unknownNameError({ kind: "value", name: actual, known }).hint! };
}

function expectation(issue: Issue): string {
  if (issue.code === "invalid_type") return `expected ${typeName(issue.expected)}`;
  if (issue.code === "invalid_value") {
    const values = issue.values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return values.length === 1 ? `expected ${values[0]}` : `expected one of ${values.join(", ")}`;
  }
  const text = issue.message.replace(/^(Invalid input|Too small|Too big|Invalid string|Invalid number): /, "");
  return text.charAt(0).toLowerCase() + text.slice(1).replaceAll(">=", "at least ").replaceAll("<=", "at most ");
}

function typeName(expected: string): string {
  const names: Record<string, string> = {
    int: "a whole number",
    number: "a number",
    string: "text",
    boolean: "true or false",
    array: "a list",
    object: "a mapping",
    record: "a mapping",
    null: "null",
  };
  return names[expected] ?? expected;
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a mapping";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}
