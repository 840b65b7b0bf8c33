import { applyOverride, parseOverride } from "../config/config-override.ts";
import { configError } from "../config/config-problem.ts";
import type { EnvironmentDefinition } from "../environment/environment.ts";
import type { EnvironmentRegistry } from "../environment/registry.ts";
import type { Json } from "../json.ts";
import { withEnvironment } from "./load-environment.ts";

/**
 * The environment that a command line names, by a built-in name, a file relative to the current folder or a package,
 * with its options as `key=value`. Throws as `withEnvironment` does, and `config.invalid` for options at fault.
 */
export async function namedEnvironment(options: {
  readonly id: string;
  readonly set: readonly string[];
  readonly environments: EnvironmentRegistry;
}): Promise<EnvironmentDefinition> {
  const { id, set } = options;
  let values: Json = {};
  for (const text of set) {
    const parsed = parseOverride(text);
    if ("problem" in parsed) throw configError("--set", [parsed.problem]);
    const applied: ReturnType<typeof applyOverride> = applyOverride(values, parsed.override);
    if ("problem" in applied) throw configError("--set", [applied.problem]);
    values = applied.value;
  }
  const environments = await withEnvironment(options.environments, id, { folder: process.cwd() });
  return environments.create(id, values);
}
