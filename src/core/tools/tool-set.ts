import { z } from "zod";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../contract/json.ts";
import type { ToolSpec } from "../../contract/message.ts";
import type { Tool, ToolRecord } from "./tool.ts";

/** Tools of an environment's author: a record by name, or several records. */
export type ToolSource = ToolRecord | readonly ToolRecord[];

/** A tool with its name and its parsed schema. */
export interface NamedTool {
  readonly spec: ToolSpec;
  readonly schema: z.ZodType;
  readonly asksService: boolean;
  /** The function that the author wrote. */
  readonly written: object;
  readonly execute: NonNullable<Tool["execute"]>;
}

/** The tools of an environment. */
export interface ToolSet {
  readonly specs: readonly ToolSpec[];
  /** Returns the tool with this name, or an error text for the model. */
  find(name: string): NamedTool | string;
}

/**
 * Reads tools. Throws `config.invalid` for two tools with the same name, for a name that models cannot call, for a tool
 * without `execute`, and for a schema that is neither from Zod 4 nor from `jsonSchema()`.
 */
export function createToolSet(source: ToolSource): ToolSet {
  const byName = new Map<string, NamedTool>();
  for (const record of isList(source) ? source : [source]) {
    for (const [name, tool] of Object.entries(record)) {
      if (byName.has(name)) {
        throw invalid(name, "Two tools have this name", "Give one of them another key.");
      }
      byName.set(name, namedTool(name, tool));
    }
  }
  return {
    specs: [...byName.values()].map(({ spec }) => spec),
    find: (name) => {
      const found = byName.get(name);
      if (found !== undefined) return found;
      const { message, hint } = unknownNameError({ kind: "tool", name: name.slice(0, 100), known: [...byName.keys()] });
      return `${message} ${hint}`;
    },
  };
}

function namedTool(name: string, tool: Tool): NamedTool {
  if (!/^[\w.:/-]{1,128}$/.test(name)) {
    throw invalid(
      name,
      "Models cannot call this name",
      "A name has at most 128 characters: letters, digits, _, -, ., : and /.",
    );
  }
  if (typeof tool?.execute !== "function") {
    const hint = "A tool is { description, inputSchema, execute }. Tools that a provider runs itself cannot be used.";
    throw invalid(name, "It has no execute function", hint);
  }
  if (tool.inputSchema === undefined && "parameters" in tool) {
    throw invalid(name, "It has parameters but no inputSchema", "Rename parameters to inputSchema.");
  }
  const { schema, jsonSchema } = readSchema(name, tool.inputSchema);
  const description = typeof tool.description === "string" ? tool.description : "";
  const { execute } = tool;
  return {
    spec: { name, description, parameters: jsonSchema },
    schema,
    asksService: tool.asksService === true,
    written: execute,
    // Called as a method, because a tool may be an instance of a class.
    execute: (input, context) => execute.call(tool, input, context),
  };
}

function readSchema(name: string, given: unknown): { readonly schema: z.ZodType; readonly jsonSchema: Json } {
  const value: unknown = typeof given === "function" ? given() : given;
  if (value === undefined) return fromZod(name, z.strictObject({}));
  if (typeof value === "object" && value !== null) {
    if ("_zod" in value) return fromZod(name, value as z.ZodType);
    if ("jsonSchema" in value && isJsonObject(value.jsonSchema) && !isPromise(value.jsonSchema)) {
      return fromJsonSchema(value.jsonSchema);
    }
  }
  const hint = "Use an inputSchema from Zod 4 (z.object) or from jsonSchema() of the AI SDK.";
  throw invalid(name, "Its inputSchema is neither from Zod 4 nor from jsonSchema()", hint);
}

function fromZod(name: string, schema: z.ZodType): { readonly schema: z.ZodType; readonly jsonSchema: Json } {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  if (jsonSchema.type !== undefined && jsonSchema.type !== "object") {
    throw invalid(
      name,
      "Its inputSchema is not an object",
      "Models call tools with named arguments: use z.object({ ... }).",
    );
  }
  return { schema, jsonSchema: jsonSchema as Json };
}

/** If a JSON Schema cannot be checked here, any object is accepted. */
function fromJsonSchema(given: object): { readonly schema: z.ZodType; readonly jsonSchema: Json } {
  const { $schema: _, ...jsonSchema } = given as JsonObject;
  try {
    return { schema: z.fromJSONSchema(withNull(jsonSchema) as z.core.JSONSchema.JSONSchema), jsonSchema };
  } catch {
    return { schema: z.looseObject({}), jsonSchema };
  }
}

/** True for a schema that is still loading. `then` is a keyword of JSON Schema too. */
function isPromise(value: JsonObject): boolean {
  return typeof (value as { readonly then?: unknown }).then === "function";
}

/** Writes `nullable: true`, which is of OpenAPI, as JSON Schema does. */
function withNull(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withNull);
  if (!isJsonObject(schema)) return schema;
  const { nullable, ...rest } = schema;
  const isNullable =
    nullable === true && ["type", "enum", "$ref", "anyOf", "oneOf", "allOf"].some((key) => key in rest);
  const data = ["const", "enum", "default", "examples"];
  const mapped = Object.fromEntries(
    Object.entries(isNullable ? rest : schema).map(([key, value]) => [
      key,
      data.includes(key) ? value : withNull(value),
    ]),
  );
  return isNullable ? { anyOf: [mapped, { type: "null" }] } : mapped;
}

function isList(source: ToolSource): source is readonly ToolRecord[] {
  return Array.isArray(source);
}

function invalid(name: string, problem: string, hint: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The tool "${name.slice(0, 100)}" cannot be used. ${problem}.`,
    hint,
    data: { tool: name },
  });
}
