import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";
import { applyOverrides, type ConfigOverride } from "./config-override.ts";
import { configError } from "./config-problem.ts";
import { type ConfigPlace, parseConfig } from "./parse-config.ts";
import { parseYamlSource, type YamlSource } from "./yaml-source.ts";

/** The source of a config, its schema, and the overrides from the command line. */
export type LoadConfigOptions<Schema extends z.ZodType> = (
  | { readonly path: string }
  | { readonly text: string; readonly name?: string }
) & {
  /** The schema, or a function that chooses it by the unchecked config. */
  readonly schema: Schema | ((config: unknown) => Promise<Schema>);
  /** Overrides `a.b=value`. They are applied in order before validation. */
  readonly overrides?: readonly string[];
  /** The command line option of the overrides, for errors. `--set` by default. */
  readonly option?: string;
};

/**
 * Reads a YAML config, applies overrides, validates it and fills in defaults. Throws `config.invalid` with every
 * problem and its line and column (or its override). Throws `data.not-found` if the file cannot be read.
 */
export async function loadConfig<Schema extends z.ZodType>(
  options: LoadConfigOptions<Schema>,
): Promise<z.output<Schema>> {
  const { schema, overrides = [], option } = options;
  const name = "path" in options ? options.path : (options.name ?? "config");
  const parsed = parseYamlSource("path" in options ? await readConfigFile(options.path) : options.text, name);
  // An empty file is a config with defaults only.
  const overridden = applyOverrides({ value: parsed.source?.value ?? {}, overrides, option });
  const problems = [...(parsed.problems ?? []), ...overridden.problems];
  if (parsed.source === undefined || problems.length > 0) throw configError(name, problems);
  const placeOf = placesIn(parsed.source, { name, overrides: overridden.overrides });
  const { value } = overridden;
  return parseConfig({ schema: typeof schema === "function" ? await schema(value) : schema, value, name, placeOf });
}

/**
 * Returns a function that finds the place of a key: the last override that touched its path, or the nearest key in the
 * file.
 */
export function placesIn(
  source: Pick<YamlSource, "locate">,
  options: {
    /** The name of the file. */
    readonly name: string;
    readonly overrides: readonly ConfigOverride[];
    /** The name of the part of the config, such as "stage 2". It follows the place. */
    readonly part?: string | undefined;
  },
): (path: readonly string[]) => ConfigPlace {
  const { name, overrides } = options;
  const part = options.part === undefined ? "" : ` (${options.part})`;
  return (keys) => {
    const position = source.locate(keys);
    const override = overrides.findLast(
      ({ path }) => startsWith(keys, path) || (position?.exact !== true && startsWith(path, keys)),
    );
    if (override !== undefined) return { location: override.location };
    if (position === undefined) return { location: name + part };
    const { line, column } = position;
    return { location: `${name}:${line}:${column}${part}`, line, column };
  };
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length <= path.length && prefix.every((key, index) => path[index] === key);
}

/** Reads the text of a config file. Throws `data.not-found` if it cannot be read. */
export async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new LyceumError({
      code: "data.not-found",
      message: reason === "ENOENT" ? `There is no config file ${path}.` : `Cannot read the config ${path}: ${reason}.`,
      hint: "Give the path of a YAML file, relative to the current folder.",
      data: { path, reason },
      cause: error,
    });
  }
}
