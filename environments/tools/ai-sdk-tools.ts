import type { z } from "zod";
import { LyceumError } from "../../src/errors/index.ts";
import type { Json } from "../../src/json.ts";
import { jsonSchemaTool } from "./json-schema-tool.ts";
import { defineTool, type Tool } from "./tool.ts";

/** What the AI SDK's `tool()` gives, as far as it is used here. */
export interface AiSdkTool {
  readonly description?: unknown;
  /** A Zod 4 schema, or what `jsonSchema()` gives, or a function that gives either. */
  readonly inputSchema: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: tools of any input stand in one record.
  readonly execute?: ((input: any, options: any) => unknown) | undefined;
}

/**
 * Tools made for the AI SDK, under the names of the record. A tool that streams gives its last value. Rejects with
 * `config.invalid` for a tool without `execute` (one that a provider or a person carries out), or with a schema that is
 * neither of Zod 4 nor of `jsonSchema()`.
 */
export async function aiSdkTools(tools: Readonly<Record<string, AiSdkTool>>): Promise<readonly Tool[]> {
  return Promise.all(Object.entries(tools).map(([name, tool]) => fromAiSdk(name, tool)));
}

async function fromAiSdk(name: string, { description, inputSchema, execute }: AiSdkTool): Promise<Tool> {
  if (execute === undefined) throw unusable(name, "it has no execute function");
  const base = {
    name,
    description: typeof description === "string" ? description : "",
    call: async (input: unknown, { signal }: { readonly signal: AbortSignal }): Promise<Json> =>
      lastValue(await execute(input, { toolCallId: name, messages: [], abortSignal: signal, context: {} })),
  };
  const schema: unknown = typeof inputSchema === "function" ? inputSchema() : inputSchema;
  if (typeof schema !== "object" || schema === null) throw unusable(name, "it has no schema");
  if ("_zod" in schema) return defineTool({ ...base, parameters: schema as z.ZodType });
  if ("jsonSchema" in schema) return jsonSchemaTool({ ...base, jsonSchema: await schema.jsonSchema });
  throw unusable(name, "its schema is neither of Zod 4 nor a JSON Schema");
}

async function lastValue(output: unknown): Promise<Json> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output as Json;
  let last: unknown = null;
  for await (const value of output as AsyncIterable<unknown>) last = value;
  return last as Json;
}

function unusable(name: string, reason: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The AI SDK tool "${name}" cannot be used: ${reason}.`,
    hint: "Give it an execute function and an inputSchema of Zod 4 or jsonSchema().",
  });
}
