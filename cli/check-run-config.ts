import { dirname } from "node:path";
import { isJsonObject, type Json } from "../src/contract/json.ts";
import type { ConfigOverride } from "../src/core/config/config-override.ts";
import { placesIn } from "../src/core/config/load-config.ts";
import { parseConfig } from "../src/core/config/parse-config.ts";
import type { YamlSource } from "../src/core/config/yaml-source.ts";
import type { EnvironmentRegistry } from "../src/core/environment/registry.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import type { Catalog } from "./catalog.ts";
import { withAlgorithm } from "./load-algorithm.ts";
import { withEnvironment } from "./load-environment.ts";
import { type RunConfig, runConfigSchema } from "./run-config.ts";

/** The config of a run, and the environments and algorithms that it can name. */
export interface LoadedRun {
  /** The name of the stage. */
  readonly name: string | undefined;
  readonly config: RunConfig;
  readonly environments: EnvironmentRegistry;
  readonly algorithms: readonly AlgorithmDefinition[];
}

/** The plain data of a run's config, and where it comes from. */
export interface RunSource extends Pick<YamlSource, "value" | "locate"> {
  /** The path of the file. */
  readonly path: string;
  /** The overrides that are part of `value`. */
  readonly overrides: readonly ConfigOverride[];
  /** The name of the part, such as "stage 2". It follows the place of each problem. */
  readonly part?: string;
  /** True for a stage after the first. */
  readonly isLaterStage?: boolean;
}

/**
 * Checks the config of a run, with the environments and algorithms that it can name: the built-in ones, those in files
 * (relative to the config) and environments in packages. Throws `config.invalid` with every problem and its place, and
 * the errors of `withEnvironment` and `withAlgorithm`.
 */
export async function checkRunConfig(
  source: RunSource,
  catalog: Pick<Catalog, "environments" | "algorithms">,
): Promise<Omit<LoadedRun, "name">> {
  const { path, value, overrides, part, isLaterStage } = source;
  const { environment, environments: several, algorithm } = isJsonObject(value) ? value : {};
  const folder = dirname(path);
  let { environments, algorithms } = catalog;
  for (const id of [environment, ...(Array.isArray(several) ? several : [])].flatMap(idOf)) {
    environments = await withEnvironment(environments, id, { folder });
  }
  for (const id of idOf(algorithm)) algorithms = await withAlgorithm(algorithms, id, { folder });
  const config = parseConfig({
    schema: runConfigSchema({ environments: environments.list(), algorithms, isLaterStage }),
    value,
    name: part === undefined ? path : `${path} (${part})`,
    placeOf: placesIn(source, { name: path, overrides, part }),
  });
  return { config, environments, algorithms };
}

/** Returns the name of an environment or an algorithm, before the config is checked. */
function idOf(part: Json | undefined): string[] {
  return isJsonObject(part) && typeof part.id === "string" ? [part.id] : [];
}
