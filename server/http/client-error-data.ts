import { type ErrorData, toErrorData } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import { withoutPaths } from "../../src/core/text/without-paths.ts";

/**
 * Returns an error as data for a client of a server: without stack and without absolute paths, which say how the
 * server's machine is set up. All servers send errors by this function.
 */
export function clientErrorData(error: unknown): ErrorData {
  return shown(toErrorData(error) as unknown as Json) as unknown as ErrorData;
}

function shown(value: Json): Json {
  if (typeof value === "string") return withoutPaths(value);
  if (Array.isArray(value)) return value.map(shown);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "stack");
  return Object.fromEntries(entries.map(([key, child]) => [key, shown(child)]));
}
