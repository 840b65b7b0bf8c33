import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import { applyOverride, parseOverride } from "../src/core/config/config-override.ts";
import { configError } from "../src/core/config/config-problem.ts";
import { type EnvironmentRegistry, type OpenNamedPolicy, openEnvironment } from "../src/core/environment/registry.ts";
import { withEnvironment } from "./load-environment.ts";

/**
 * Opens the environment that a command line names by a built-in name, a file relative to the current folder or a
 * package, with its options as `key=value`. `open` opens the policies that the options name. `judge` is the option
 * `judge`. Throws the errors of `withEnvironment`, and `config.invalid` for wrong options and for a judge that the
 * environment does not have.
 */
export async function namedEnvironment(options: {
  readonly id: string;
  readonly set: readonly string[];
  readonly judge?: string | undefined;
  readonly environments: EnvironmentRegistry;
  readonly open: OpenNamedPolicy;
}): Promise<EnvironmentDefinition> {
  const { set, ...named } = options;
  return environmentOf({ ...named, options: setOptions(set) });
}

/** Opens an environment like {@link namedEnvironment}, with its options as an object. */
export async function environmentOf(options: {
  readonly id: string;
  readonly options: Readonly<Record<string, Json>>;
  readonly judge?: string | undefined;
  readonly environments: EnvironmentRegistry;
  readonly open: OpenNamedPolicy;
}): Promise<EnvironmentDefinition> {
  const { id, judge, open } = options;
  const environments = await withEnvironment(options.environments, id, { folder: process.cwd() });
  const entry = environments.get(id);
  if (judge !== undefined && !Object.hasOwn(entry.options.shape, "judge")) throw noJudge(id, judge);
  return openEnvironment(entry, { options: { ...options.options, ...(judge === undefined ? {} : { judge }) }, open });
}

/** The error of `--judge` for an environment without judges. */
export function noJudge(id: string, judge: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `"${id}" has no judge, but --judge names ${judge}.`,
    hint: "Leave --judge out, or let the environment list a judge: see docs/judges.md.",
  });
}

/** Parses the options of a command line (`key=value`) to one object. Throws `config.invalid` for a wrong one. */
export function setOptions(set: readonly string[]): Readonly<Record<string, Json>> {
  let values: Json = {};
  for (const text of set) {
    const parsed = parseOverride(text);
    if ("problem" in parsed) throw configError("--set", [parsed.problem]);
    const applied: ReturnType<typeof applyOverride> = applyOverride(values, parsed.override);
    if ("problem" in applied) throw configError("--set", [applied.problem]);
    values = applied.value;
  }
  return values as Readonly<Record<string, Json>>;
}
