import { z } from "zod";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { versionProblem } from "../src/contract/specification-version.ts";
import { contractError } from "../src/core/environment/environment-error.ts";
import type { EnvironmentEntry } from "../src/core/environment/registry.ts";
import { judgeOptions } from "../src/core/judge/with-judge.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the environment that a module exports: `entry` (with options), `environment` (without options), or either as
 * the default export. Throws `environment.contract` if there is none, or if it is incomplete.
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
    ...(definition.judge === undefined
      ? { options: z.object({}) }
      : { options: z.object(judgeOptions(definition.judge.model)), policies: ({ judge }) => ({ judge }) as never }),
    create: () => definition,
  };
}

function checkedEntry(entry: Fields, name: string): EnvironmentEntry {
  const { options, create, description, version } = entry;
  const wrong =
    typeof create !== "function"
      ? "create is not a function"
      : typeof description !== "string"
        ? "description is not a string"
        : !(options instanceof z.ZodObject)
          ? "options is not a z.object of zod 4"
          : version !== undefined && typeof version !== "string"
            ? "version is not a string"
            : undefined;
  if (wrong !== undefined) {
    const rule = "Create it with defineEnvironmentEntry({ id, description, options, create }).";
    throw contractError({ environment: name, problem: `exports an entry whose ${wrong}`, rule });
  }
  const known = entry as unknown as EnvironmentEntry;
  return { ...known, create: (values) => checkedDefinition(known.create(values), name) };
}

function checkedDefinition(value: unknown, name: string): EnvironmentDefinition {
  const fail = (problem: string): never => {
    const rule = "Create it with defineEnvironment or defineParallelEnvironment.";
    throw contractError({ environment: name, problem, rule });
  };
  if (!isFields(value)) return fail("is not an environment definition");
  const problem = versionProblem(value);
  if (problem !== undefined) return fail(problem);
  const { spec, splits, tasks, create } = value;
  if (!isFields(spec) || typeof spec.id !== "string" || !Array.isArray(spec.agents))
    return fail("has an incomplete spec");
  if (!Array.isArray(splits)) return fail("has no splits");
  if (typeof tasks !== "function") return fail("has no tasks function");
  if (typeof create !== "function") return fail("has no create function");
  return value as unknown as EnvironmentDefinition;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
