import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { isJsonObject, type Json } from "../contract/json.ts";
import { applyOverrides } from "../core/config/config-override.ts";
import { type LoadConfigOptions, loadConfig } from "../core/config/index.ts";
import { parseYamlSource } from "../core/config/yaml-source.ts";
import type { EnvironmentRegistry } from "../core/environment/registry.ts";
import type { Catalog } from "./catalog.ts";
import { withAlgorithm } from "./load-algorithm.ts";
import { withEnvironment } from "./load-environment.ts";
import { type RunConfig, runConfigSchema } from "./run-config.ts";

/** The config of a run, and the environments and algorithms that it can name. */
export interface LoadedRun {
  readonly config: RunConfig;
  readonly environments: EnvironmentRegistry;
  readonly algorithms: readonly AlgorithmDefinition[];
}

/**
 * Reads the config of a run with the environments and algorithms that it can name: the built-in ones, those in files
 * (relative to the config) and environments in packages. `algorithm: grpo` is short for `algorithm: { id: grpo }`. The
 * same holds for environments, alone or in a list. Throws the errors of `loadConfig`, `withEnvironment` and
 * `withAlgorithm`.
 */
export async function loadRunConfig(options: {
  readonly path: string;
  /** The text of the file, or a part of a config, instead of reading the file. */
  readonly text?: string;
  readonly stage?: Pick<Extract<LoadConfigOptions<never>, { source: unknown }>, "source" | "applied" | "part">;
  readonly overrides: readonly string[];
  readonly catalog: Pick<Catalog, "environments" | "algorithms">;
}): Promise<LoadedRun> {
  const { path, stage, overrides, catalog } = options;
  // Reads the file once, because it can be a pipe. `loadConfig` reports read errors.
  const text = options.text ?? (stage === undefined ? await readFile(path, "utf8").catch(() => undefined) : undefined);
  const given = stage?.source.value ?? parseYamlSource(text ?? "", "").source?.value ?? {};
  const named = namedParts(given, overrides);
  const folder = dirname(path);
  let { environments } = catalog;
  for (const id of named.environments) environments = await withEnvironment(environments, id, { folder });
  const algorithms =
    named.algorithm === undefined
      ? catalog.algorithms
      : await withAlgorithm(catalog.algorithms, named.algorithm, { folder });
  const schema = runConfigSchema({ environments: environments.list(), algorithms });
  const source = stage !== undefined ? { ...stage, name: path } : text === undefined ? { path } : { text, name: path };
  const config = await loadConfig({ ...source, schema, overrides, spellOut: spelledOut });
  return { config, environments, algorithms };
}

/** Expands environments and algorithms that are given by name alone to mappings. */
export function spelledOut(config: Json): Json {
  if (!isJsonObject(config)) return config;
  const mapping = (part: Json): Json => (typeof part === "string" ? { id: part } : part);
  const { environment, environments, algorithm } = config;
  return {
    ...config,
    ...(environment === undefined ? {} : { environment: mapping(environment) }),
    ...(Array.isArray(environments) ? { environments: environments.map(mapping) } : {}),
    ...(algorithm === undefined ? {} : { algorithm: mapping(algorithm) }),
  };
}

/** The names in a config. */
interface NamedParts {
  readonly environments: readonly string[];
  readonly algorithm?: string;
}

/** Returns the environments and the algorithm that a config names, before the config is checked. */
function namedParts(config: Json, overrides: readonly string[]): NamedParts {
  const { value } = applyOverrides({ value: config, overrides, spellOut: spelledOut });
  if (!isJsonObject(value)) return { environments: [] };
  const several = Array.isArray(value.environments) ? value.environments : [];
  const [algorithm] = idOf(value.algorithm);
  return {
    environments: [value.environment, ...several].flatMap(idOf),
    algorithm,
  };
}

function idOf(part: Json | undefined): string[] {
  return isJsonObject(part) && typeof part.id === "string" ? [part.id] : [];
}
