import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

/**
 * A tool whose input a JSON Schema describes. Where the schema says what cannot be checked here, any object is let
 * through, and the description shows the schema.
 */
export function jsonSchemaTool(
  options: Pick<Tool, "name" | "description" | "call"> & { readonly jsonSchema: unknown },
): Tool {
  const { jsonSchema, ...tool } = options;
  try {
    return defineTool({ ...tool, parameters: z.fromJSONSchema(jsonSchema as z.core.JSONSchema.JSONSchema) });
  } catch {
    const description = `${tool.description} Input, as JSON Schema: ${JSON.stringify(jsonSchema)}`;
    return defineTool({ ...tool, description, parameters: z.looseObject({}) });
  }
}
