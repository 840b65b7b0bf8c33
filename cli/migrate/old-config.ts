import { isJsonObject, type Json, type JsonObject } from "../../src/contract/json.ts";
import { plainValue } from "./old-value.ts";

/** The systems whose configs can be converted. */
export type OldSystem = "mrlm" | "llm-collab";

/** What trains a converted config on several GPUs: the PyTorch backend, or a server of SkyRL. */
export type Cluster = "torch" | "skyrl";

/** The names of the systems in messages. */
export const systemNames: Readonly<Record<OldSystem, string>> = {
  mrlm: "MRLM",
  "llm-collab": "LLM_Collab (CoMLRL)",
};

/** Reads the values of an old config. */
export interface OldConfig {
  /** The section of its trainer, such as `magrpo`. Empty if there is none. */
  readonly section: string;
  /** True for a single old key that is an override of a converted config: no other old key is known. */
  readonly alone: boolean;
  readonly cluster: Cluster;
  /**
   * Returns the plain value at a dotted path. `*` stands for the trainer section. Returns undefined if it is absent or
   * null.
   */
  get(path: string): Json | undefined;
  /** Returns {@link get} if it is a number. */
  number(path: string): number | undefined;
  /** Returns {@link get} as text, if it is a text or a number. */
  text(path: string): string | undefined;
  /** Returns true if the key exists, even with the value null. */
  has(path: string): boolean;
}

/** Creates the reader of an old config. */
export function oldConfig(
  value: JsonObject,
  { section = "", alone = false, cluster = "torch" }: Partial<Pick<OldConfig, "section" | "alone" | "cluster">> = {},
): OldConfig {
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
    cluster,
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
 * Returns every value of an old config that is not a mapping, by its dotted path. A list of mappings counts as one
 * value. A key that contains a dot is in quotes.
 */
export function leaves(value: Json, path = ""): { readonly path: string; readonly value: Json }[] {
  if (!isJsonObject(value) || (Object.keys(value).length === 0 && path !== "")) return [{ path, value }];
  return Object.entries(value).flatMap(([key, part]) => {
    const name = key.includes(".") ? JSON.stringify(key) : key;
    return leaves(part, path === "" ? name : `${path}.${name}`);
  });
}
