import { isJsonObject, type Json } from "../../contract/json.ts";

/** Returns the leaves of nested mappings by their dotted paths. Lists and empty mappings are leaves. */
export function flattened(value: object, path = ""): Map<string, Json> {
  const leaves = new Map<string, Json>();
  for (const [key, child] of Object.entries(value) as [string, Json | undefined][]) {
    const name = path === "" ? key : `${path}.${key}`;
    if (child === undefined) continue;
    if (isJsonObject(child) && Object.keys(child).length > 0) {
      for (const [inner, leaf] of flattened(child, name)) leaves.set(inner, leaf);
    } else leaves.set(name, child);
  }
  return leaves;
}
