import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import { applyOverrides, type ConfigOverride } from "./config-override.ts";
import { type ConfigProblem, configError } from "./config-problem.ts";
import { type SchemaProblem, schemaProblems } from "./schema-problem.ts";
import { assertStrict } from "./schema-walk.ts";
import { parseYamlSource, type YamlSource } from "./yaml-source.ts";

/** The source of a config, its schema, and the overrides from the command line. */
export type LoadConfigOptions<Schema extends z.ZodType> = (
  | { readonly path: string }
  | { readonly text: string; readonly name?: string }
  | {
      /** A parsed config, or a part of one. */
      readonly source: YamlSource;
      readonly name: string;
      /** The overrides that were already applied to it. */
      readonly applied: readonly ConfigOverride[];
      /** The name of the part, such as "stage 2". It follows the place of each problem. */
      readonly part: string;
    }
) & {
  /** The schema. All objects in it must be strict, so that a mistyped key is an error. */
  readonly schema: Schema;
  /** Overrides `a.b=value`. They are applied in order before validation. */
  readonly overrides?: readonly string[];
  /** The command line option of the overrides, for errors. `--set` by default. */
  readonly option?: string;
  /** Expands short forms, in the file and after each override. */
  readonly spellOut?: (config: Json) => Json;
};

/**
 * Reads a YAML config, applies overrides, validates it and fills in defaults. Throws `config.invalid` with every
 * problem and its line and column (or its override). Throws `data.not-found` if the file cannot be read.
 */
export async function loadConfig<Schema extends z.ZodType>(
  options: LoadConfigOptions<Schema>,
): Promise<z.output<Schema>> {
  assertStrict(options.schema);
  const name = "path" in options ? options.path : (options.name ?? "config");
  const part = "part" in options ? ` (${options.part})` : "";
  const parsed =
    "source" in options
      ? { source: options.source }
      : parseYamlSource("path" in options ? await readConfigFile(options.path) : options.text, name);
  const { value, overrides, ...overridden } = applyOverrides({
    // An empty file is a config with defaults only.
    value: parsed.source?.value ?? {},
    overrides: options.overrides ?? [],
    option: options.option,
    spellOut: options.spellOut,
  });
  const problems = [...("problems" in parsed ? (parsed.problems ?? []) : []), ...overridden.problems];
  if (parsed.source === undefined || problems.length > 0) throw configError(name, problems);

  const result = options.schema.safeParse(value);
  if (result.success) return result.data;
  const { source } = parsed;
  const applied = [...("applied" in options ? options.applied : []), ...overrides];
  throw configError(
    name + part,
    schemaProblems(options.schema, value, result.error.issues).map((problem) =>
      placeProblem({ problem, source, overrides: applied, name, part }),
    ),
  );
}

/** Returns the place of a problem: the last override that touched its path, or the nearest key in the file. */
function placeProblem(options: {
  readonly problem: SchemaProblem;
  readonly source: YamlSource;
  readonly overrides: readonly ConfigOverride[];
  readonly name: string;
  readonly part: string;
}): ConfigProblem {
  const { problem, source, overrides, name, part } = options;
  const keys = problem.path.map(String);
  const position = source.locate(keys);
  const override = overrides.findLast(
    ({ path }) => startsWith(keys, path) || (position?.exact !== true && startsWith(path, keys)),
  );
  const rest = { path: keys.join("."), message: problem.message, hint: problem.hint };
  if (override !== undefined) return { location: override.location, ...rest };
  if (position === undefined) return { location: name + part, ...rest };
  const { line, column } = position;
  return { location: `${name}:${line}:${column}${part}`, line, column, ...rest };
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length <= path.length && prefix.every((key, index) => path[index] === key);
}

async function readConfigFile(path: string): Promise<string> {
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
