import { readFile } from "node:fs/promises";
import { isJsonObject, type Json, type JsonObject } from "../contract/json.ts";
import { applyOverrides, type ConfigOverride } from "../core/config/config-override.ts";
import { configError } from "../core/config/config-problem.ts";
import { parseYamlSource } from "../core/config/yaml-source.ts";
import type { Catalog } from "./catalog.ts";
import { type LoadedRun, loadRunConfig, spelledOut } from "./load-run-config.ts";
import { refuseOldConfig } from "./refuse-old-config.ts";

/** The keys that a stage replaces completely. All other keys are merged. */
const replaced: readonly string[] = ["algorithm", "environment", "environments"];

/**
 * Returns the runs of a config file: its `stages`, or the config itself as one run without a name. A stage is the
 * config with the stage's keys merged into it. Its name is its number and its algorithm by default. Throws the errors
 * of `loadRunConfig` with the name of the stage, and `config.invalid` for a config of another program.
 */
export async function loadStages(options: {
  readonly path: string;
  readonly overrides: readonly string[];
  readonly catalog: Pick<Catalog, "environments" | "algorithms">;
}): Promise<readonly (LoadedRun & { readonly name?: string })[]> {
  const { path, overrides, catalog } = options;
  // Reads the file once, because it can be a pipe. `loadRunConfig` reports read errors.
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text !== undefined) refuseOldConfig(text, path);
  const source = text === undefined ? undefined : parseYamlSource(text, path).source;
  const { value: whole, applied } = overridden(source?.value, overrides);
  if (source === undefined || !isJsonObject(whole) || whole.stages === undefined) {
    return [await loadRunConfig({ ...options, text })];
  }
  const { stages, ...shared } = whole;
  if (!Array.isArray(stages) || stages.length === 0 || !stages.every(isJsonObject)) {
    const message = "stages must be a list of mappings, one for each stage";
    throw configError(path, [{ location: path, path: "stages", message }]);
  }
  const loaded: (LoadedRun & { readonly name: string })[] = [];
  for (const [place, { name, ...own }] of (stages as readonly JsonObject[]).entries()) {
    const within = ["stages", String(place)];
    const stage = {
      source: {
        value: merged(shared, own),
        locate: (keys: readonly PropertyKey[]) => {
          const inStage = source.locate([...within, ...keys]);
          const [section] = keys.map(String);
          const instead = section !== undefined && replaced.includes(section) && Object.hasOwn(own, section);
          const before = instead || inStage?.exact === true ? undefined : source.locate(keys);
          return before?.exact === true ? before : inStage;
        },
      },
      applied: applied.map((override) =>
        within.every((key, depth) => override.path[depth] === key)
          ? { ...override, path: override.path.slice(within.length) }
          : override,
      ),
      part: `stage ${typeof name === "string" ? name : place + 1}`,
    };
    const run = await loadRunConfig({ path, stage, overrides: [], catalog });
    const algorithm = run.config.algorithm.id.replace(/^.*\//, "").replace(/\.\w+$/, "");
    loaded.push({ ...run, name: name === undefined ? `${place + 1}-${algorithm}` : String(name) });
  }
  return loaded;
}

/** Merges one config into another: mappings key by key, all other values are replaced. */
function merged(base: JsonObject, over: JsonObject): JsonObject {
  const result: { [key: string]: Json } = { ...base };
  if (over.environment !== undefined) delete result.environments;
  if (over.environments !== undefined) delete result.environment;
  // Of two keys that exclude each other, the stage's own wins.
  if (over.epochs !== undefined) delete result.steps;
  if (over.steps !== undefined) delete result.epochs;
  for (const [key, value] of Object.entries(over)) {
    const before = result[key];
    result[key] =
      isJsonObject(before) && isJsonObject(value) && !replaced.includes(key) ? merged(before, value) : value;
  }
  return result;
}

function overridden(
  config: Json | undefined,
  overrides: readonly string[],
): { readonly value: Json | undefined; readonly applied: readonly ConfigOverride[] } {
  if (config === undefined) return { value: undefined, applied: [] };
  const { value, overrides: applied, problems } = applyOverrides({ value: config, overrides, spellOut: spelledOut });
  if (problems.length > 0) throw configError("--set", problems);
  return { value, applied };
}
