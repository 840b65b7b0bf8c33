import { isJsonObject, type Json } from "../../contract/json.ts";
import { canonicalJson } from "../taskset/canonical-json.ts";
import { flattened } from "./flattened.ts";

/** A setting that differs between configs, with its value in each. Undefined if a config lacks it. */
export interface SettingDifference {
  /** Such as `training.learningRate`. */
  readonly setting: string;
  readonly values: readonly (Json | undefined)[];
}

/** Returns the settings in which configs differ. A setting that is null counts as absent. */
export function settingDifferences(configs: readonly (Json | undefined)[]): SettingDifference[] {
  const flat = configs.map((config) => flattened(isJsonObject(config) ? config : {}));
  const names = [...new Set(flat.flatMap((leaves) => [...leaves.keys()]))];
  return names
    .map((setting) => ({ setting, values: flat.map((leaves) => leaves.get(setting)) }))
    .filter(({ values }) => new Set(values.map((value) => canonicalJson(value ?? null))).size > 1);
}
