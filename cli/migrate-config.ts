import { LyceumError } from "../src/contract/errors/index.ts";
import { isJsonObject } from "../src/contract/json.ts";
import type { Catalog } from "./catalog.ts";
import { loadStages } from "./load-stages.ts";
import { configText, lostLines } from "./migrate/config-text.ts";
import { type ConvertedConfig, convertConfig } from "./migrate/convert-config.ts";
import type { Cluster, OldSystem } from "./migrate/old-config.ts";
import type { RemovedKey } from "./migrate/old-key.ts";
import { parseOldYaml } from "./migrate/parse-old-yaml.ts";
import { configKeys } from "./run-config.ts";

/** The result of {@link migrateConfig}. */
export interface MigratedConfig {
  readonly converted: ConvertedConfig;
  readonly yaml: string;
}

/**
 * Converts the text of an old config. The result is a valid config: a value that Lyceum does not accept is reported as
 * lost, with the reason. Throws `config.invalid` if the text is not YAML, is not a config of an old system, or trains
 * nothing.
 */
export async function migrateConfig(options: {
  readonly text: string;
  /** The name of the text in messages. */
  readonly name: string;
  /** The path of the new file, for the command in its first comment. */
  readonly to: string;
  readonly system?: OldSystem | undefined;
  /** What trains a config of several GPUs. PyTorch by default. */
  readonly cluster?: Cluster | undefined;
  readonly catalog: Pick<Catalog, "environments" | "algorithms">;
}): Promise<MigratedConfig> {
  const { text, name, to, system, cluster, catalog } = options;
  const keys = configKeys(catalog);
  let converted = convertConfig(parseOldYaml(text, name), { name, keys, system, cluster });
  for (;;) {
    const yaml = configText(converted, { from: name, to });
    try {
      await loadStages({ path: to, text: yaml, overrides: [], catalog });
      return { converted, yaml };
    } catch (error) {
      const next = withoutInvalid(converted, error);
      if (next === undefined) throw incomplete(name, { error, lost: converted.lost });
      converted = next;
    }
  }
}

/** Creates the error for an old config that lacks a required key or has an unusable value for it. */
function incomplete(
  name: string,
  { error, lost }: { readonly error: unknown; readonly lost: readonly RemovedKey[] },
): unknown {
  if (!LyceumError.isInstance(error) || error.code !== "config.invalid") return error;
  const missing = error.message.replaceAll(/^.*?: (the config: )?/g, "");
  return new LyceumError({
    code: "config.invalid",
    message: [`${name} is too incomplete to be converted: ${missing}.`, ...lostLines(lost)].join("\n"),
    hint: "Add the model, the data set or the environment to the old config, under the names in docs/migrate.md.",
    cause: error,
  });
}

/** Removes the values that the error is about. Returns undefined if the error is about something else. */
function withoutInvalid(converted: ConvertedConfig, error: unknown): ConvertedConfig | undefined {
  if (!LyceumError.isInstance(error) || error.code !== "config.invalid") return undefined;
  const problems = isJsonObject(error.data) && Array.isArray(error.data.problems) ? error.data.problems : [];
  const set = new Map(converted.set);
  const lost = [...converted.lost];
  for (const { path, message } of problems as readonly { readonly path: string; readonly message: string }[]) {
    const key = [...set.keys()].find((candidate) => path === candidate || path.startsWith(`${candidate}.`));
    if (key === undefined || key.endsWith(".id")) continue;
    const origin = converted.origins.get(key);
    lost.push({ key: origin?.from.join(", ") ?? key, value: origin?.value ?? set.get(key)!, reason: message });
    set.delete(key);
  }
  return set.size === converted.set.size ? undefined : { ...converted, set, lost };
}
