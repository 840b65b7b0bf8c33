import type { z } from "zod";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import { schemaProblems } from "../config/schema-problem.ts";
import type { PolicySpecification } from "../policy/policy-specification.ts";

/** An environment by name, with the options that it is made from. */
export interface EnvironmentEntry<Options extends z.ZodObject = z.ZodObject> {
  readonly id: string;
  readonly description: string;
  /** Such as `1.2.0`: what a config asks for by `id: name@1`. That of its package where it is left out. */
  readonly version?: string;
  /** Every option should have a default, so that the name alone makes an environment. Unknown keys are errors. */
  readonly options: Options;
  /**
   * Options that start a program or send a key to an address. A log may come from anywhere: `rescore` does not take them
   * from it. Policies need not be listed. None by default.
   */
  readonly neverFromLog?: readonly string[];
  /**
   * The policies that checked options name, such as a judge, by the option: they are opened before the environment is
   * made. An undefined one is not needed. None by default.
   */
  policies?(options: z.output<Options>): Readonly<Record<string, PolicySpecification | undefined>>;
  /** `policies` are the opened ones, by the names of {@link EnvironmentEntry.policies}. They are left open. */
  create(options: z.output<Options>, policies?: Readonly<Record<string, Policy>>): EnvironmentDefinition;
}

/** The environments that can be asked for by name. */
export interface EnvironmentRegistry {
  /** In the order they were registered. */
  readonly entries: readonly EnvironmentEntry[];
  /** Throws `config.unknown-name` with the nearest known name. */
  entry(id: string): EnvironmentEntry;
  /**
   * Makes an environment from unchecked options. Throws `config.invalid` naming each option at fault, and for options
   * that name a policy: {@link openEnvironment} opens it.
   */
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
      const parsed = parseEnvironmentOptions(id, found.options.strict(), options);
      const [named] = namedPolicies(found, parsed);
      if (named !== undefined) throw unopened(id, named[0]);
      return found.create(parsed);
    },
  };
}

/**
 * Makes an environment whose options may name policies (a judge, an expert). `open` opens them, and the caller closes
 * them. Throws `config.invalid` naming each option at fault, and for a named policy without `open`; and what `open`
 * throws.
 */
export async function openEnvironment(
  entry: EnvironmentEntry,
  { options = {}, open }: { readonly options?: unknown; readonly open?: OpenNamedPolicy | undefined },
): Promise<EnvironmentDefinition> {
  const parsed = parseEnvironmentOptions(entry.id, entry.options.strict(), options);
  const opened: Record<string, Policy> = {};
  for (const [name, specification] of namedPolicies(entry, parsed)) {
    if (open === undefined) throw unopened(entry.id, name);
    opened[name] = await open(specification, `${name} of environment "${entry.id}"`);
  }
  return entry.create(parsed, opened);
}

/** Opens the policy that a config names. `what` says in errors what it is for, such as `judge of environment "debate"`. */
export type OpenNamedPolicy = (specification: PolicySpecification, what: string) => Promise<Policy>;

function namedPolicies(entry: EnvironmentEntry, options: object): readonly (readonly [string, PolicySpecification])[] {
  const named = entry.policies?.(options as never) ?? {};
  return Object.entries(named).flatMap(([name, given]) => (given === undefined ? [] : [[name, given] as const]));
}

function unopened(id: string, name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The option ${name} of "${id}" names a policy, and nothing here opens policies.`,
    hint: "The command line opens it. In a program, open it and give it to the environment, or use openEnvironment.",
    data: { environment: id, option: name },
  });
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
