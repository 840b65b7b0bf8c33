import { isJsonObject, type Json } from "../../../contract/json.ts";

/** A setting that differs between configs, with its value in each. Undefined if a config lacks it. */
export interface ConfigDifference {
  /** Such as `training.learningRate`. */
  readonly setting: string;
  readonly values: readonly (Json | undefined)[];
}

/** Returns the settings in which configs differ. */
export function configDifferences(configs: readonly (Json | undefined)[]): ConfigDifference[] {
  const flat = configs.map((config) => new Map(config === undefined ? [] : settings(config, "")));
  const names = [...new Set(flat.flatMap((values) => [...values.keys()]))];
  return names
    .map((setting) => ({ setting, values: flat.map((values) => values.get(setting)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
}

function* settings(value: Json, path: string): Generator<[setting: string, value: Json], void, undefined> {
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    yield [path, value];
    return;
  }
  for (const [name, part] of Object.entries(value)) {
    yield* settings(part as Json, path === "" ? name : `${path}.${name}`);
  }
}
