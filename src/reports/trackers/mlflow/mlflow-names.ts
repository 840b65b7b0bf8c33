import { isJsonObject, type Json } from "../../../contract/json.ts";

/** One parameter of an MLflow run. */
export interface MlflowParameter {
  readonly key: string;
  readonly value: string;
}

/** MLflow's own limits: a longer key or value is refused. Older servers take no longer values. */
const keyLength = 250;
const valueLength = 500;

/** A name as MLflow takes it: letters, digits, `_`, `-`, `.`, space and `/`; what else there is becomes `_`. */
export function mlflowName(name: string): string {
  const allowed = name.replaceAll(/[^\p{ASCII}]|[^\w\-. /]/gu, "_").replaceAll(/\/{2,}|^\/|\/$/g, "_");
  // A path that leads elsewhere is refused.
  return (allowed.replaceAll(/(^|\/)\.{1,2}(?=\/|$)/g, "$1_") || "_").slice(0, keyLength);
}

/** A config as parameters: a key for each leaf, such as `training.learningRate`; lists as JSON. */
export function mlflowParameters(config: Json): MlflowParameter[] {
  const found = new Map<string, string>();
  const visit = (value: Json, path: string): void => {
    if (isJsonObject(value)) {
      for (const [key, child] of Object.entries(value)) visit(child, path === "" ? key : `${path}.${key}`);
      return;
    }
    const text = typeof value === "string" ? value : JSON.stringify(value);
    // Of names that become one, the first is kept: a parameter cannot be changed.
    const key = mlflowName(path === "" ? "config" : path);
    if (!found.has(key)) found.set(key, text.slice(0, valueLength));
  };
  visit(config, "");
  return [...found].map(([key, value]) => ({ key, value }));
}
