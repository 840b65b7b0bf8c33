import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/contract/json.ts";
import type { ConfigKey } from "../../src/core/config/index.ts";
import { type ConvertedKeys, convertKeys } from "./convert-keys.ts";
import { detectSystem, lyceumSections, trainerSectionOf } from "./detect-system.ts";
import { llmCollabKeys } from "./llm-collab-keys.ts";
import { skyrlGpus, torchGpus } from "./mrlm-cluster.ts";
import { mrlmKeys } from "./mrlm-keys.ts";
import { type Cluster, type OldConfig, type OldSystem, oldConfig, systemNames } from "./old-config.ts";
import type { OldKey, RemovedKey } from "./old-key.ts";
import { withRemoteSettings } from "./remote-settings.ts";
import { skyrlCommands } from "./skyrl-commands.ts";
import { torchNodeCommands, visibleDevices } from "./torch-commands.ts";
import { trainerSections } from "./trainer-sections.ts";

/** A config of an old system, converted to a config of Lyceum, and the keys that were lost. */
export interface ConvertedConfig extends Omit<ConvertedKeys, "unknown"> {
  readonly system: OldSystem;
  /** The commands for a config of several GPUs, besides `lyceum train`: of a SkyRL server, or of PyTorch's other nodes. */
  readonly commands: readonly string[];
  /** What comes before `lyceum train` in its command. Empty if nothing does. */
  readonly trainPrefix: string;
}

/**
 * Converts a config of MRLM or LLM_Collab. `keys` are the keys that a config of Lyceum can have. A converted key that
 * is not among them is lost. Throws `config.invalid` for a config of another system, and for one that trains nothing.
 */
export function convertConfig(
  value: Json,
  options: {
    readonly name: string;
    readonly system?: OldSystem;
    readonly cluster?: Cluster;
    readonly keys: readonly ConfigKey[];
  },
): ConvertedConfig {
  const { name, keys, cluster = "torch" } = options;
  const system = options.system ?? detectSystem(value);
  if (system === undefined || !isJsonObject(value)) throw unknownConfig(name, value);
  const section = system === "llm-collab" ? trainerSectionOf(value) : "";
  if (system === "llm-collab" && section === "") throw unknownConfig(name, value);
  const old = oldConfig(value, { section, cluster });
  const rows = system === "mrlm" ? mrlmKeys : llmCollabKeys;
  const { unknown, set: shared, lost: unusable, origins: sharedOrigins, ...converted } = convertKeys(rows, value, old);
  const origins = withAgents(sharedOrigins);
  const { set, lost } = withRemoteSettings({ set: withAgents(shared), origins, lost: unusable });
  const launch = system === "mrlm" ? launchOf(old, { model: String(set.get("model.path")), ...converted }) : noLaunch;
  const kept = new Map([...set].filter(([key]) => isKnown(key, set, keys)));
  const missing = [...set.keys()]
    .filter((key) => !kept.has(key))
    .map((key): RemovedKey => {
      const { from = [], value: given = set.get(key)! } = origins.get(key) ?? {};
      const id = set.get(`${key.split(".")[0]}.id`);
      const reason = id === undefined ? `there is no key ${key}` : `${String(id)} has no ${key.replace(/^\w+\./, "")}`;
      return { key: from.join(", ") || key, value: given, reason };
    })
    // Values that only the old program's default would set are not reported as lost.
    .filter(({ key }) => !key.startsWith("the default"));
  const elsewhere = unknown.map((lostKey) => ({ ...lostKey, reason: reasonElsewhere(lostKey, { system, section }) }));
  return { system, ...converted, ...launch, origins, set: kept, lost: [...lost, ...missing, ...elsewhere] };
}

const noLaunch = { commands: [], trainPrefix: "" };

/** Returns the commands of a config of MRLM. */
function launchOf(
  config: OldConfig,
  { model, server }: { readonly model: string } & Pick<ConvertedKeys, "server">,
): Pick<ConvertedConfig, "commands" | "trainPrefix"> {
  const torch = torchGpus(config);
  if (torch !== undefined) return { commands: torchNodeCommands(torch), trainPrefix: visibleDevices(torch.gpuIds) };
  const gpus = skyrlGpus(config);
  return gpus === undefined ? noLaunch : { ...noLaunch, commands: skyrlCommands({ model, gpus, settings: server }) };
}

/**
 * Copies the options of `model`, except its path, to each agent with its own model, because an agent's model replaces
 * `model` completely.
 */
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

/** Returns the values as one nested config. */
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

/** Returns true if a config of Lyceum can have a key with this algorithm, environment and adapter. */
function isKnown(key: string, set: ReadonlyMap<string, Json>, keys: readonly ConfigKey[]): boolean {
  // An address stands for an id.
  if (key === "environment.url") return true;
  const matches = keys.filter(({ key: known }) => pattern(known).test(key));
  return matches.some(({ key: known, when }) => {
    if (when === undefined) return true;
    const name = known.includes("*") ? key.split(".")[known.split(".").indexOf("*")]! : "*";
    return set.get(when.key.replace("*", name)) === when.value;
  });
}

/**
 * Returns a pattern for a known key. `agents.models.*.path` matches any name. A list is one value here.
 * Its items are not searched.
 */
function pattern(known: string): RegExp {
  const [list] = known.split("[]") as [string];
  const parts = list.split(".").map((part) => (part === "*" ? "[^.]+" : part.replaceAll(/[^\w]/g, "\\$&")));
  return new RegExp(`^${parts.join("\\.")}$`);
}

/** Returns why an unknown key is lost: it belongs to another system or to another trainer. */
function reasonElsewhere(
  { key, reason }: RemovedKey,
  { system, section }: { readonly system: OldSystem; readonly section: string },
): string {
  const [first = "", ...rest] = key.split(".");
  const isSection = trainerSections.some(({ name }) => name === first) && rest.length > 0;
  if (system === "llm-collab" && isSection && first !== section)
    return `it belongs to another trainer: the file is converted as a config of ${section}`;
  const starred = isSection ? ["*", ...rest].join(".") : key;
  const [rows, other]: [readonly OldKey[], OldSystem] =
    system === "mrlm" ? [llmCollabKeys, "llm-collab"] : [mrlmKeys, "mrlm"];
  return rows.some(({ old }) => old === starred)
    ? `a key of ${systemNames[other]}: use --from ${other} to convert the file as such`
    : reason;
}

function unknownConfig(name: string, value: Json): LyceumError {
  const has = (...keys: readonly string[]): boolean =>
    isJsonObject(value) && keys.some((key) => Object.hasOwn(value, key));
  const [message, hint] = has(...lyceumSections)
    ? [`${name} is already a config of Lyceum.`, `Train with it: lyceum train --config ${name}`]
    : has("evaluation", "eval", "metrics")
      ? [
          `${name} trains nothing: it has no trainer section.`,
          "Use lyceum eval, with the environment, the model and the number of tasks as options (docs/evaluate.md).",
        ]
      : [
          value === null
            ? `${name} is empty.`
            : `${name} is not a training config of ${Object.values(systemNames).join(" or ")}.`,
          `A config of MRLM has training.algorithm. A config of LLM_Collab has a dataset and one of these trainers: ${trainerSections.map((section) => section.name).join(", ")}. Use --from to select the system.`,
        ];
  return new LyceumError({ code: "config.invalid", message, hint, data: { name } });
}
