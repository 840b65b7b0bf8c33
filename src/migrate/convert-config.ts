import type { ConfigKey } from "../config/index.ts";
import { LyceumError } from "../errors/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { type ConvertedKeys, convertKeys } from "./convert-keys.ts";
import { detectSystem, trainerSectionOf } from "./detect-system.ts";
import { llmCollabKeys } from "./llm-collab-keys.ts";
import { mrlmKeys } from "./mrlm-keys.ts";
import { type OldSystem, oldConfig, systemNames } from "./old-config.ts";
import type { LostKey } from "./old-key.ts";
import { trainerSections } from "./trainer-sections.ts";

/** A config of an old system as one of Lyceum, and what it could not keep. */
export interface ConvertedConfig extends Omit<ConvertedKeys, "unknown"> {
  readonly system: OldSystem;
}

/**
 * Converts a config of MRLM or LLM_Collab. `keys` are those that a config of Lyceum may have: what would become another
 * one is lost. Throws `config.invalid` for what is a config of neither, and for one that trains nothing.
 */
export function convertConfig(
  value: Json,
  options: { readonly name: string; readonly system?: OldSystem; readonly keys: readonly ConfigKey[] },
): ConvertedConfig {
  const { name, keys } = options;
  const system = options.system ?? detectSystem(value);
  if (system === undefined || !isJsonObject(value)) throw unknownConfig(name, value);
  const section = system === "llm-collab" ? trainerSectionOf(value) : "";
  if (system === "llm-collab" && section === "") throw unknownConfig(name, value);
  const old = oldConfig(value, section);
  const rows = system === "mrlm" ? mrlmKeys : llmCollabKeys;
  const { unknown, set, lost, ...converted } = convertKeys(rows, value, old);
  const kept = new Map([...set].filter(([key]) => isKnown(key, set, keys)));
  const missing = [...set.keys()]
    .filter((key) => !kept.has(key))
    .map((key): LostKey => {
      const from = converted.origins.get(key)?.from ?? [];
      const id = set.get(`${key.split(".")[0]}.id`);
      const reason = id === undefined ? `there is no key ${key}` : `${String(id)} has no ${key.replace(/^\w+\./, "")}`;
      return { key: from.join(", ") || key, value: old.get(from[0] ?? "") ?? set.get(key)!, reason };
    })
    // What only the old program's default would set is not missed.
    .filter(({ key }) => !key.startsWith("the default"));
  return { system, ...converted, set: kept, lost: [...lost, ...missing, ...unknown] };
}

/** The values as one nested config. */
export function nestedConfig(set: ReadonlyMap<string, Json>): JsonObject {
  const root: Record<string, Json> = {};
  for (const [key, value] of set) {
    const path = key.split(".");
    let parent: Record<string, Json> = root;
    for (const part of path.slice(0, -1)) {
      parent[part] ??= {};
      parent = parent[part] as Record<string, Json>;
    }
    parent[path.at(-1)!] = value;
  }
  return root;
}

/** Whether a config of Lyceum may have a key, given its algorithm, its environment and its adapter. */
function isKnown(key: string, set: ReadonlyMap<string, Json>, keys: readonly ConfigKey[]): boolean {
  const matches = keys.filter(({ key: known }) => pattern(known).test(key));
  return matches.some(({ when }) => when === undefined || set.get(when.key) === when.value);
}

/** `agents.models.*.path` takes any name; a list is one value here, whatever its items have. */
function pattern(known: string): RegExp {
  const [list] = known.split("[]") as [string];
  const parts = list.split(".").map((part) => (part === "*" ? "[^.]+" : part.replaceAll(/[^\w]/g, "\\$&")));
  return new RegExp(`^${parts.join("\\.")}$`);
}

function unknownConfig(name: string, value: Json): LyceumError {
  const evaluates = isJsonObject(value) && ["evaluation", "eval", "metrics"].some((key) => Object.hasOwn(value, key));
  return new LyceumError({
    code: "config.invalid",
    message: evaluates
      ? `${name} trains nothing: it has no section of a trainer.`
      : `${name} is no training config of ${Object.values(systemNames).join(" or ")}.`,
    hint: evaluates
      ? "Evaluate with lyceum eval: the environment, the model and the number of tasks are its options (docs/evaluate.md)."
      : `A config of MRLM has training.algorithm; one of LLM_Collab a dataset and one of these trainers: ${trainerSections.map((section) => section.name).join(", ")}. --from says which it is.`,
    data: { name },
  });
}
