import { isJsonObject, type Json, type JsonObject } from "../../contract/json.ts";
import { plainValue } from "./old-value.ts";

/** The programs whose configs can be converted. */
export type OldSystem = "mrlm" | "llm-collab";

/** How the systems are called in messages. */
export const systemNames: Readonly<Record<OldSystem, string>> = {
  mrlm: "MRLM",
  "llm-collab": "LLM_Collab (CoMLRL)",
};

/** A config of an old system, for the converters of its keys. */
export interface OldConfig {
  /** The section that its trainer reads, such as `magrpo`; empty if there is none. */
  readonly section: string;
  /** One key that is given by itself, over a config that is converted already: nothing else of the old one is known. */
  readonly alone: boolean;
  /** The plain value at a dotted path, `*` standing for the section; undefined if it is left out or null. */
  get(path: string): Json | undefined;
  /** {@link get} if it is a number. */
  number(path: string): number | undefined;
  /** {@link get} as text, if it is a text or a number. */
  text(path: string): string | undefined;
  /** Whether the key is there at all, even as null. */
  has(path: string): boolean;
}

/** Reads values of an old config. */
export function oldConfig(value: JsonObject, section = "", alone = false): OldConfig {
  const find = (path: string): Json | undefined => {
    let current: Json | undefined = value;
    for (const key of path.split(".")) {
      const name = key === "*" ? section : key;
      current = isJsonObject(current) && Object.hasOwn(current, name) ? current[name] : undefined;
    }
    return current;
  };
  const get = (path: string): Json | undefined => {
    const found = find(path);
    const plain = found === undefined ? undefined : plainValue(found);
    return plain === null ? undefined : plain;
  };
  return {
    section,
    alone,
    get,
    has: (path) => find(path) !== undefined,
    number: (path) => {
      const found = get(path);
      return typeof found === "number" ? found : undefined;
    },
    text: (path) => {
      const found = get(path);
      return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
    },
  };
}

/**
 * Every value of an old config that is no mapping, by its dotted path; a list of mappings counts as one value. A key
 * that has a dot itself stands in quotes.
 */
export function leaves(value: Json, path = ""): { readonly path: string; readonly value: Json }[] {
  if (!isJsonObject(value) || (Object.keys(value).length === 0 && path !== "")) return [{ path, value }];
  return Object.entries(value).flatMap(([key, part]) => {
    const name = key.includes(".") ? JSON.stringify(key) : key;
    return leaves(part, path === "" ? name : `${path}.${name}`);
  });
}
