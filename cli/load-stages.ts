import { isJsonObject, type Json, type JsonObject } from "../src/contract/json.ts";
import { applyOverrides, type ConfigOverride } from "../src/core/config/config-override.ts";
import { configError } from "../src/core/config/config-problem.ts";
import { placesIn, readConfigFile } from "../src/core/config/load-config.ts";
import { parseYamlSource, type YamlSource } from "../src/core/config/yaml-source.ts";
import { checkStages } from "../trainers/training/check-stages.ts";
import type { Catalog } from "./catalog.ts";
import { checkRunConfig, type LoadedRun, type RunSource } from "./check-run-config.ts";
import { refuseOldConfig } from "./refuse-old-config.ts";

/** The keys that a stage replaces completely. All other keys are merged. */
const replaced: readonly string[] = ["algorithm", "environment", "environments"];

/**
 * Reads a config file and returns its runs: its `stages`, or the config itself as one run without a name. A stage is
 * the config with the stage's keys merged into it. Its name is its number and its algorithm by default. `algorithm:
 * grpo` is short for `algorithm: { id: grpo }`. The same holds for environments, alone or in a list.
 *
 * Throws `data.not-found` for a missing file, `config.invalid` for a config of another program, for keys in a stage that
 * belong to the whole config and for stages that cannot follow each other, and the errors of `checkRunConfig` with the
 * name of the stage.
 */
export async function loadStages(options: {
  readonly path: string;
  /** The text of the file. It is read by default. */
  readonly text?: string;
  /** Changes `key=value`. They are applied in order. */
  readonly overrides: readonly string[];
  /** Replaces the length of every stage by a number of epochs. */
  readonly epochs?: number | undefined;
  readonly catalog: Pick<Catalog, "environments" | "algorithms">;
}): Promise<readonly LoadedRun[]> {
  const { path, epochs, catalog } = options;
  const text = options.text ?? (await readConfigFile(path));
  const { source, problems = [] } = parseYamlSource(text, path);
  refuseOldConfig({ parsed: source?.value, text, path });
  // An empty file is a config with defaults only.
  const value = source?.value ?? {};
  const whole = applyOverrides({ value, overrides: options.overrides, spellOut: spelledOut });
  if (source === undefined || whole.problems.length > 0) throw configError(path, [...problems, ...whole.problems]);
  const { overrides } = whole;
  if (!isJsonObject(whole.value) || whole.value.stages === undefined) {
    const run = { path, locate: source.locate, value: whole.value, overrides };
    return [{ name: undefined, ...(await checkRunConfig(withEpochs(run, epochs), catalog)) }];
  }
  const { stages, ...shared } = whole.value;
  if (!Array.isArray(stages) || stages.length === 0 || !stages.every(isJsonObject)) {
    const message = "stages must be a list of mappings, one for each stage";
    throw configError(path, [{ location: path, path: "stages", message }]);
  }
  const loaded: (LoadedRun & { readonly name: string })[] = [];
  for (const [place, { name, ...own }] of (stages as readonly JsonObject[]).entries()) {
    const run = {
      path,
      value: merged(shared, own),
      ...stagePlaces(source, { place, own, overrides }),
      part: `stage ${name === undefined ? place + 1 : String(name)}`,
      isLaterStage: place > 0,
    };
    refuseSharedKeys(own, run);
    const checked = await checkRunConfig(withEpochs(run, epochs), catalog);
    const algorithm = checked.config.algorithm.id.replace(/^.*\//, "").replace(/\.\w+$/, "");
    loaded.push({ name: name === undefined ? `${place + 1}-${algorithm}` : String(name), ...checked });
  }
  checkStages(loaded);
  return loaded;
}

/** The keys that belong to the whole config, and what to do instead. */
const sharedKeys = {
  output: "Set it in the whole config. Each stage has a folder of its name in it.",
  stages: "List all stages in one list.",
};

/** Throws `config.invalid` for keys in a stage that belong to the whole config. */
function refuseSharedKeys(own: JsonObject, source: RunSource): void {
  const { path, overrides, part } = source;
  const placeOf = placesIn(source, { name: path, overrides, part });
  const problems = Object.entries(sharedKeys)
    .filter(([key]) => own[key] !== undefined)
    .map(([key, hint]) => ({ ...placeOf([key]), path: key, message: `${key} cannot be set in a stage`, hint }));
  if (problems.length > 0) throw configError(path, problems);
}

/** Returns the places of a stage's keys: in the stage itself, or in the config that all stages share. */
function stagePlaces(
  { locate }: YamlSource,
  stage: { readonly place: number; readonly own: JsonObject; readonly overrides: readonly ConfigOverride[] },
): Pick<RunSource, "locate" | "overrides"> {
  const { own, overrides } = stage;
  const within = ["stages", String(stage.place)];
  return {
    locate: (keys) => {
      const inStage = locate([...within, ...keys]);
      const [section] = keys.map(String);
      const instead = section !== undefined && replaced.includes(section) && Object.hasOwn(own, section);
      const before = instead || inStage?.exact === true ? undefined : locate(keys);
      return before?.exact === true ? before : inStage;
    },
    overrides: overrides.map((override) =>
      within.every((key, depth) => override.path[depth] === key)
        ? { ...override, path: override.path.slice(within.length) }
        : override,
    ),
  };
}

/** Expands environments and algorithms that are given by name alone to mappings. */
function spelledOut(config: Json): Json {
  if (!isJsonObject(config)) return config;
  const mapping = (part: Json): Json => (typeof part === "string" ? { id: part } : part);
  const environmentMapping = (part: Json): Json => addressAsId(mapping(part));
  const { environment, environments, algorithm, stages } = config;
  return {
    ...config,
    ...(environment === undefined ? {} : { environment: environmentMapping(environment) }),
    ...(Array.isArray(environments) ? { environments: environments.map(environmentMapping) } : {}),
    ...(algorithm === undefined ? {} : { algorithm: mapping(algorithm) }),
    ...(Array.isArray(stages) ? { stages: stages.map(spelledOut) } : {}),
  };
}

/** `{ url: ADDRESS }` is short for `{ id: ADDRESS }`. An environment with an id can have an option of this name. */
function addressAsId(part: Json): Json {
  if (!isJsonObject(part) || typeof part.url !== "string" || part.id !== undefined) return part;
  const { url: id, ...rest } = part;
  return { id, ...rest };
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

/** Returns a run with epochs instead of steps, if the command line sets them. */
function withEpochs(run: RunSource, epochs: number | undefined): RunSource {
  const { value } = run;
  const { training = {} } = isJsonObject(value) ? value : {};
  if (epochs === undefined || !isJsonObject(value) || !isJsonObject(training)) return run;
  const { steps: _, ...rest } = training;
  const override = { location: `--num-epochs ${epochs}`, path: ["training", "epochs"], value: epochs };
  return {
    ...run,
    value: { ...value, training: { ...rest, epochs } },
    overrides: [...run.overrides, override],
  };
}
