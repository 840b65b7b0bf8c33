import { isJsonObject, type Json, type JsonObject } from "../../src/contract/json.ts";
import { pythonLiteral } from "./python-text.ts";

const simple: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/**
 * Returns the type hint of a JSON Schema. Local references are followed. A schema that Python cannot express, and one
 * that contains itself, is `Any`.
 */
export function pythonType(schema: Json | undefined, root: Json = schema ?? {}): string {
  return typeOf(schema, root, []);
}

function typeOf(schema: Json | undefined, root: Json, seen: readonly string[]): string {
  if (!isJsonObject(schema)) return "Any";
  const inner = (one: Json | undefined): string => typeOf(one, root, seen);
  const { $ref: reference } = schema;
  if (typeof reference === "string") {
    if (seen.includes(reference)) return "Any";
    return typeOf(resolved(reference, root), root, [...seen, reference]);
  }
  if (schema.const !== undefined) return literalType([schema.const]);
  if (Array.isArray(schema.enum)) return literalType(schema.enum as readonly Json[]);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return union((alternatives as readonly Json[]).map(inner));
  if (Array.isArray(schema.type)) {
    return union((schema.type as readonly Json[]).map((type) => inner({ ...schema, type })));
  }
  if (schema.type === "array") return `list[${inner(schema.items)}]`;
  if (schema.type === "object") return `dict[str, ${objectValues(schema, inner)}]`;
  return (typeof schema.type === "string" ? simple[schema.type] : undefined) ?? "Any";
}

function objectValues(schema: JsonObject, inner: (one: Json | undefined) => string): string {
  const values = schema.additionalProperties;
  return isJsonObject(values) && schema.properties === undefined ? inner(values) : "Any";
}

function literalType(values: readonly Json[]): string {
  const allowed = values.filter((value) => value !== null);
  const plain = allowed.every(
    (value) => typeof value === "string" || typeof value === "boolean" || Number.isInteger(value),
  );
  if (!plain) return "Any";
  const literals = allowed.length === 0 ? [] : [`Literal[${allowed.map(pythonLiteral).join(", ")}]`];
  return union([...literals, ...(allowed.length < values.length ? ["None"] : [])]);
}

function union(types: readonly string[]): string {
  const different = [...new Set(types)];
  return different.length === 0 || different.includes("Any") ? "Any" : different.join(" | ");
}

function resolved(reference: string, root: Json): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  let found: Json | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}
