import { z } from "zod";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import { contractError } from "../core/environment/environment-error.ts";
import type { EnvironmentEntry } from "../core/environment/registry.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The environment that a module exports: `entry` (with options), `environment` (without), or either as its default.
 * Throws `environment.contract` where there is none, or one that is not whole.
 */
export function environmentEntryOf(module: Fields, name: string): EnvironmentEntry {
  const exported = module.entry ?? module.environment ?? module.default;
  if (exported === undefined) {
    const names = Object.keys(module);
    const there = names.length === 0 ? "It exports nothing." : `It exports ${names.join(", ")}.`;
    throw contractError({
      environment: name,
      problem: 'exports neither "environment" nor "entry" nor a default',
      rule: `${there} Export the environment: export const environment = defineEnvironment({ ... }).`,
    });
  }
  if (isFields(exported) && "options" in exported && !("spec" in exported)) return checkedEntry(exported, name);
  const definition = checkedDefinition(exported, name);
  return {
    id: name,
    description: definition.spec.description ?? `The environment of ${name}.`,
    options: z.object({}),
    create: () => definition,
  };
}

function checkedEntry(entry: Fields, name: string): EnvironmentEntry {
  const { options, create, description, version } = entry;
  const wrong =
    typeof create !== "function"
      ? "create is no function"
      : typeof description !== "string"
        ? "description is no text"
        : !(options instanceof z.ZodObject)
          ? "options is no z.object of zod 4"
          : version !== undefined && typeof version !== "string"
            ? "version is no text"
            : undefined;
  if (wrong !== undefined) {
    const rule = "Make it by environmentEntry({ id, description, options, create }).";
    throw contractError({ environment: name, problem: `exports an entry whose ${wrong}`, rule });
  }
  const known = entry as unknown as EnvironmentEntry;
  return { ...known, create: (values) => checkedDefinition(known.create(values), name) };
}

function checkedDefinition(value: unknown, name: string): EnvironmentDefinition {
  const fail = (problem: string): never => {
    const rule = "Make it by defineEnvironment or defineParallelEnvironment.";
    throw contractError({ environment: name, problem, rule });
  };
  if (!isFields(value)) return fail("is no environment definition");
  const { specificationVersion, spec, splits, tasks, create } = value;
  if (specificationVersion !== "v1") {
    return fail(`has specificationVersion ${JSON.stringify(specificationVersion) ?? "undefined"} instead of "v1"`);
  }
  if (!isFields(spec) || typeof spec.id !== "string" || !Array.isArray(spec.agents)) return fail("has no whole spec");
  if (!Array.isArray(splits)) return fail("has no splits");
  if (typeof tasks !== "function") return fail("has no function tasks");
  if (typeof create !== "function") return fail("has no function create");
  return value as unknown as EnvironmentDefinition;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
