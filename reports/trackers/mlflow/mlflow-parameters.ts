import { isJsonObject, type Json } from "../../../src/contract/json.ts";
import { flattened } from "../../../src/core/text/flattened.ts";

/** One parameter of an MLflow run. */
export interface MlflowParameter {
  readonly key: string;
  readonly value: string;
}

/** MLflow's limits. It refuses longer keys and values. Older servers accept at most 500 characters per value. */
const keyLength = 250;
const valueLength = 500;

/** Returns a name that MLflow accepts: letters, digits, `_`, `-`, `.`, space and `/`. Other characters become `_`. */
export function mlflowName(name: string): string {
  const allowed = name.replaceAll(/[^\p{ASCII}]|[^\w\-. /]/gu, "_").replaceAll(/\/{2,}|^\/|\/$/g, "_");
  // MLflow refuses relative path segments.
  return (allowed.replaceAll(/(^|\/)\.{1,2}(?=\/|$)/g, "$1_") || "_").slice(0, keyLength);
}

/** Returns a config as parameters: one key per leaf, such as `training.learningRate`. Lists are JSON. */
export function mlflowParameters(config: Json): MlflowParameter[] {
  const found = new Map<string, string>();
  for (const [path, value] of flattened(isJsonObject(config) ? config : { config })) {
    // An empty mapping has no parameters.
    if (isJsonObject(value)) continue;
    const key = mlflowName(path);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (!found.has(key)) found.set(key, text.slice(0, valueLength));
  }
  return [...found].map(([key, value]) => ({ key, value }));
}
