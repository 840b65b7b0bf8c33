import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { applyOverride, parseOverride } from "../config/config-override.ts";
import { loadConfig } from "../config/index.ts";
import { parseYamlSource } from "../config/yaml-source.ts";
import type { EnvironmentRegistry } from "../environment/registry.ts";
import type { Json } from "../json.ts";
import { withEnvironment } from "./load-environment.ts";
import type { Rooms } from "./rooms.ts";
import { type RunConfig, runConfigSchema } from "./run-config.ts";

/**
 * Reads a run's config, with the environments that it can name: those of the rooms, and the one that it names by a
 * file (relative to the config) or a package. Throws as `loadConfig` and `withEnvironment` do.
 */
export async function loadRunConfig(options: {
  readonly path: string;
  readonly overrides: readonly string[];
  readonly rooms: Pick<Rooms, "environments" | "algorithms">;
}): Promise<{ readonly config: RunConfig; readonly environments: EnvironmentRegistry }> {
  const { path, overrides, rooms } = options;
  // Read once, for it may be a pipe. What cannot be read is told by loadConfig.
  const text = await readFile(path, "utf8").catch(() => undefined);
  const id = text === undefined ? undefined : environmentId(text, overrides);
  const { environments } =
    id === undefined
      ? rooms
      : { environments: await withEnvironment(rooms.environments, id, { folder: dirname(path) }) };
  const schema = runConfigSchema({ environments: environments.entries, algorithms: rooms.algorithms });
  const source = text === undefined ? { path } : { text, name: path };
  return { config: await loadConfig({ ...source, schema, overrides }), environments };
}

/** The environment that a config names, before anything of the config is checked. */
function environmentId(text: string, overrides: readonly string[]): string | undefined {
  let value: Json = parseYamlSource(text, "").source?.value ?? {};
  for (const override of overrides) {
    const parsed = parseOverride(override);
    if ("problem" in parsed) continue;
    const applied = applyOverride(value, parsed.override);
    if (!("problem" in applied)) value = applied.value;
  }
  const environment = (value as { readonly environment?: { readonly id?: Json } | null } | null)?.environment;
  return typeof environment?.id === "string" ? environment.id : undefined;
}
