import { isJsonObject, type Json } from "../../src/contract/json.ts";
import type { OldSystem } from "./old-config.ts";
import { trainerSections } from "./trainer-sections.ts";

/** The root keys that identify a config of Lyceum. */
export const lyceumSections: readonly string[] = ["algorithm", "environment", "environments", "stages"];

/**
 * Returns the system that a config is written for. Returns undefined for a config of Lyceum or of an unknown system. A
 * config of LLM_Collab has a trainer section. A config of MRLM names its algorithm under `training`.
 */
export function detectSystem(config: Json | undefined): OldSystem | undefined {
  if (!isJsonObject(config)) return undefined;
  if (lyceumSections.some((key) => Object.hasOwn(config, key))) return undefined;
  const has = (section: string, ...keys: readonly string[]): boolean => {
    const part = config[section];
    return isJsonObject(part) && keys.some((key) => Object.hasOwn(part, key));
  };
  if (has("training", "algorithm") || has("model", "model_name_or_path")) return "mrlm";
  if (Object.hasOwn(config, "eval_envs") || Object.hasOwn(config, "policy_env")) return "mrlm";
  const named = has("model", "name") || has("agent_model", "name") || has("dataset", "name", "type", "train_split");
  return named && trainerSectionOf(config) !== "" ? "llm-collab" : undefined;
}

/** Returns the trainer section of an LLM_Collab config, or an empty text if there is none. */
export function trainerSectionOf(config: Json): string {
  if (!isJsonObject(config)) return "";
  return trainerSections.find(({ name }) => isJsonObject(config[name]))?.name ?? "";
}
