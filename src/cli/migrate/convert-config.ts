import { LyceumError } from "../../contract/errors/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../contract/json.ts";
import type { ConfigKey } from "../../core/config/index.ts";
import { type ConvertedKeys, convertKeys } from "./convert-keys.ts";
import { detectSystem, lyceumSections, trainerSectionOf } from "./detect-system.ts";
import { llmCollabKeys } from "./llm-collab-keys.ts";
import { mrlmKeys } from "./mrlm-keys.ts";
import { type OldSystem, oldConfig, systemNames } from "./old-config.ts";
import type { LostKey, OldKey } from "./old-key.ts";
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
  const { unknown, set: shared, lost, origins: sharedOrigins, ...converted } = convertKeys(rows, value, old);
  const [set, origins] = [withAgents(shared), withAgents(sharedOrigins)];
  const kept = new Map([...set].filter(([key]) => isKnown(key, set, keys)));
  const missing = [...set.keys()]
    .filter((key) => !kept.has(key))
    .map((key): LostKey => {
      const { from = [], value: given = set.get(key)! } = origins.get(key) ?? {};
      const id = set.get(`${key.split(".")[0]}.id`);
      const reason = id === undefined ? `there is no key ${key}` : `${String(id)} has no ${key.replace(/^\w+\./, "")}`;
      return { key: from.join(", ") || key, value: given, reason };
    })
    // What only the old program's default would set is not missed.
    .filter(({ key }) => !key.startsWith("the default"));
  const elsewhere = unknown.map((lostKey) => ({ ...lostKey, reason: reasonElsewhere(lostKey, { system, section }) }));
  return { system, ...converted, origins, set: kept, lost: [...lost, ...missing, ...elsewhere] };
}

/** What `model` says beside its path, for each agent with a model of its own too: that takes the place of the whole. */
function withAgents<Value>(values: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  const all = new Map(values);
  for (const agent of [...values.keys()].filter((key) => /^agents\.models\.[^.]+\.path$/.test(key))) {
    for (const [key, value] of values) {
      if (/^model\.(?!path$|chatTemplate$)/.test(key))
        all.set(key.replace("model.", agent.replace(/path$/, "")), value);
    }
  }
  return all;
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
  return matches.some(({ key: known, when }) => {
    if (when === undefined) return true;
    const name = known.includes("*") ? key.split(".")[known.split(".").indexOf("*")]! : "*";
    return set.get(when.key.replace("*", name)) === when.value;
  });
}

/** `agents.models.*.path` takes any name; a list is one value here, whatever its items have. */
function pattern(known: string): RegExp {
  const [list] = known.split("[]") as [string];
  const parts = list.split(".").map((part) => (part === "*" ? "[^.]+" : part.replaceAll(/[^\w]/g, "\\$&")));
  return new RegExp(`^${parts.join("\\.")}$`);
}

/** Why a key that is not the system's own is lost: another system has it, or another trainer. */
function reasonElsewhere(
  { key, reason }: LostKey,
  { system, section }: { readonly system: OldSystem; readonly section: string },
): string {
  const [first = "", ...rest] = key.split(".");
  const isSection = trainerSections.some(({ name }) => name === first) && rest.length > 0;
  if (system === "llm-collab" && isSection && first !== section)
    return `of another trainer: the file is converted as one of ${section}`;
  const starred = isSection ? ["*", ...rest].join(".") : key;
  const [rows, other]: [readonly OldKey[], OldSystem] =
    system === "mrlm" ? [llmCollabKeys, "llm-collab"] : [mrlmKeys, "mrlm"];
  return rows.some(({ old }) => old === starred)
    ? `a key of ${systemNames[other]}: --from ${other} converts the file as one of that`
    : reason;
}

function unknownConfig(name: string, value: Json): LyceumError {
  const has = (...keys: readonly string[]): boolean =>
    isJsonObject(value) && keys.some((key) => Object.hasOwn(value, key));
  const [message, hint] = has(...lyceumSections)
    ? [`${name} is a config of Lyceum already.`, `Train with it: lyceum train --config ${name}`]
    : has("evaluation", "eval", "metrics")
      ? [
          `${name} trains nothing: it has no section of a trainer.`,
          "Evaluate with lyceum eval: the environment, the model and the number of tasks are its options (docs/evaluate.md).",
        ]
      : [
          value === null
            ? `${name} is empty.`
            : `${name} is no training config of ${Object.values(systemNames).join(" or ")}.`,
          `A config of MRLM has training.algorithm; one of LLM_Collab a dataset and one of these trainers: ${trainerSections.map((section) => section.name).join(", ")}. --from says which it is.`,
        ];
  return new LyceumError({ code: "config.invalid", message, hint, data: { name } });
}
