import type { z } from "zod";
import { schemaProblems } from "../config/schema-problem.ts";
import { LyceumError, unknownNameError } from "../errors/index.ts";
import type { EnvironmentDefinition } from "./environment.ts";

/** An environment by name, with the options that it is made from. */
export interface EnvironmentEntry<Options extends z.ZodObject = z.ZodObject> {
  readonly id: string;
  readonly description: string;
  /** Such as `1.2.0`: what a config asks for by `id: name@1`. That of its package where it is left out. */
  readonly version?: string;
  /** Every option should have a default, so that the name alone makes an environment. Unknown keys are errors. */
  readonly options: Options;
  create(options: z.output<Options>): EnvironmentDefinition;
}

/** The environments that can be asked for by name. */
export interface EnvironmentRegistry {
  /** In the order they were registered. */
  readonly entries: readonly EnvironmentEntry[];
  /** Throws `config.unknown-name` with the nearest known name. */
  entry(id: string): EnvironmentEntry;
  /** Makes an environment from unchecked options. Throws `config.invalid` naming each option at fault. */
  create(id: string, options?: unknown): EnvironmentDefinition;
}

/** An entry, with the type of `create`'s options inferred from their schema. */
export function environmentEntry<Options extends z.ZodObject>(
  entry: EnvironmentEntry<Options>,
): EnvironmentEntry<Options> {
  return entry;
}

/** A registry of these entries. It never changes: to add an entry, make another. */
export function createRegistry(entries: readonly EnvironmentEntry[]): EnvironmentRegistry {
  const byId = new Map<string, EnvironmentEntry>();
  for (const entry of entries) {
    if (byId.has(entry.id)) {
      throw new LyceumError({
        code: "config.invalid",
        message: `Two environments are registered as "${entry.id}".`,
        hint: "Give each environment an id of its own.",
      });
    }
    byId.set(entry.id, entry);
  }
  const entry = (id: string): EnvironmentEntry => {
    const found = byId.get(id);
    if (found === undefined) throw unknownNameError({ kind: "environment", name: id, known: [...byId.keys()] });
    return found;
  };
  return {
    entries: [...entries],
    entry,
    create: (id, options = {}) => {
      const found = entry(id);
      return found.create(parseEnvironmentOptions(id, found.options.strict(), options));
    },
  };
}

/** The options of an environment, checked and filled in. Throws `config.invalid` naming each option at fault. */
export function parseEnvironmentOptions<Options extends z.ZodObject>(
  id: string,
  schema: Options,
  options: unknown,
): z.output<Options> {
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const problems = schemaProblems(schema, options, result.error.issues);
  throw new LyceumError({
    code: "config.invalid",
    message: `Environment "${id}" cannot be made from these options: ${problems.map(({ message }) => message).join("; ")}.`,
    hint: problems.find(({ hint }) => hint !== undefined)?.hint ?? `It takes: ${Object.keys(schema.shape).join(", ")}.`,
    data: { environment: id, problems: problems.map(({ path, message }) => ({ path: path.map(String), message })) },
  });
}
