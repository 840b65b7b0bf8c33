import type { z } from "zod";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import { schemaProblems } from "../config/schema-problem.ts";
import { checkJudge, withJudge } from "../judge/with-judge.ts";
import type { PolicySpecification } from "../policy/policy-specification.ts";
import { createRegistry, type Registry } from "../registry.ts";
import type { EnvironmentResources } from "./environment-resources.ts";

/**
 * A named environment and the options that it is created from.
 *
 * @example
 * import { type EnvironmentEntry, environmentFromReward } from "lyceum";
 * import { z } from "zod";
 * export const entry: EnvironmentEntry = {
 *   id: "say",
 *   description: "Say a word.",
 *   options: z.object({ word: z.string().default("yes") }),
 *   create: ({ word }) => environmentFromReward({ tasks: [word], prompt: (task) => `Say "${task}".`, reward: () => 1 }),
 * };
 * entry.create({ word: "no" }).spec.id; // => "reward"
 */
export interface EnvironmentEntry<Options extends z.ZodObject = z.ZodObject> {
  readonly id: string;
  readonly description: string;
  /** The version, such as `1.2.0`. A config requests it by `id: name@1`. The version of its package by default. */
  readonly version?: string;
  /**
   * The schema of the options. Give every option a default, so that the name alone creates an environment. Unknown keys
   * are errors.
   */
  readonly options: Options;
  /**
   * The options that start a program or send a key to an address. `rescore` refuses them in a log, because a log can
   * come from an untrusted source. Options that name policies need not be listed. None by default.
   */
  readonly neverFromLog?: readonly string[];
  /**
   * Returns the policies that the checked options name, such as a judge, by option. They are opened before the
   * environment is created. An undefined policy is not opened. None by default.
   */
  policies?(options: z.output<Options>): Readonly<Record<string, PolicySpecification | undefined>>;
  /**
   * Creates the environment. `resources.policies` are the opened policies, by the names of
   * {@link EnvironmentEntry.policies}. The environment does not close them.
   */
  create(options: z.output<Options>, resources?: EnvironmentResources): EnvironmentDefinition;
  /**
   * Opens an environment that takes time, such as one on a server. The command line calls it instead of `create` if it
   * is present.
   */
  open?(options: z.output<Options>, resources?: EnvironmentResources): Promise<EnvironmentDefinition>;
}

/** The environments that can be created by name. */
export interface EnvironmentRegistry extends Registry<EnvironmentEntry> {
  /**
   * Creates an environment from unchecked options. Throws `config.invalid`, naming each wrong option. Also throws it
   * for options that name a policy: use `openEnvironment` for these.
   */
  create(id: string, options?: unknown): EnvironmentDefinition;
}

/**
 * Returns the entry unchanged. Infers the type of `create`'s options from their schema.
 *
 * @example
 * import { defineEnvironmentEntry, environmentFromReward } from "lyceum";
 * import { z } from "zod";
 * export const entry = defineEnvironmentEntry({
 *   id: "say",
 *   description: "Say a word a number of times.",
 *   options: z.object({ times: z.int().min(1).default(2) }),
 *   create: ({ times }) =>
 *     environmentFromReward({
 *       tasks: ["yes", "no"],
 *       prompt: (word) => `Say "${word}" ${times} times.`,
 *       reward: ({ task, text }) => (text.split(task).length - 1 === times ? 1 : 0),
 *     }),
 * });
 * entry.options.parse({}); // => { times: 2 }
 */
export function defineEnvironmentEntry<Options extends z.ZodObject>(
  entry: EnvironmentEntry<Options>,
): EnvironmentEntry<Options> {
  return entry;
}

/** Creates a registry of environments. It never changes: to add an entry, create another registry. */
export function createEnvironmentRegistry(entries: readonly EnvironmentEntry[]): EnvironmentRegistry {
  const registry = createRegistry("environment", entries);
  return {
    ...registry,
    create: (id, options = {}) => {
      const entry = registry.get(id);
      const parsed = parseEnvironmentOptions(id, entry.options.strict(), options);
      const [named] = namedPolicies(entry, parsed);
      if (named !== undefined) throw unopened(id, named[0]);
      return entry.create(parsed);
    },
  };
}

/**
 * Creates an environment whose options may name policies, such as a judge or an expert. `open` opens them, and the
 * caller closes them. Throws `config.invalid`, naming each wrong option, and if a policy is named without `open`.
 * Passes on the errors of `open`.
 */
export async function openEnvironment(
  entry: EnvironmentEntry,
  { options = {}, open }: { readonly options?: unknown; readonly open?: OpenNamedPolicy | undefined },
): Promise<EnvironmentDefinition> {
  return createEnvironment(entry, {
    options: parseEnvironmentOptions(entry.id, entry.options.strict(), options),
    open,
  });
}

/** Creates an environment like {@link openEnvironment}, from options that its schema has already checked. */
export async function createEnvironment(
  entry: EnvironmentEntry,
  {
    options,
    open,
  }: { readonly options: Readonly<Record<string, unknown>>; readonly open?: OpenNamedPolicy | undefined },
): Promise<EnvironmentDefinition> {
  const opened: Record<string, Policy> = {};
  for (const [name, specification] of namedPolicies(entry, options)) {
    if (open === undefined) throw unopened(entry.id, name);
    opened[name] = await open(specification, `${name} of environment "${entry.id}"`);
  }
  const resources = { policies: opened };
  const environment =
    entry.open === undefined ? entry.create(options, resources) : await entry.open(options, resources);
  return withNamedJudge(environment, {
    policy: opened.judge,
    maxRequests: options.judgeRequests as number | undefined,
  });
}

/**
 * Opens the judge of an environment that has not done so itself. Throws `config.invalid` if it needs one and none is
 * named.
 */
function withNamedJudge(
  environment: EnvironmentDefinition,
  judge: Parameters<typeof withJudge>[1],
): EnvironmentDefinition {
  const isOpen = environment.judge === undefined || environment.judge.opened !== undefined;
  const opened = isOpen ? environment : withJudge(environment, judge);
  checkJudge(opened);
  return opened;
}

/** Opens a policy that a config names. `what` describes its use for errors, such as `judge of environment "debate"`. */
export type OpenNamedPolicy = (specification: PolicySpecification, what: string) => Promise<Policy>;

function namedPolicies(entry: EnvironmentEntry, options: object): readonly (readonly [string, PolicySpecification])[] {
  const named = entry.policies?.(options as never) ?? {};
  return Object.entries(named).flatMap(([name, given]) => (given === undefined ? [] : [[name, given] as const]));
}

function unopened(id: string, name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The option ${name} of "${id}" names a policy, and nothing here opens policies.`,
    hint: "The command line opens it. In a program, open it and pass it to the environment, or use openEnvironment.",
    data: { environment: id, option: name },
  });
}

/**
 * Checks the options of an environment and fills in the defaults. Throws `config.invalid`, naming each wrong option.
 */
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
    message: `Environment "${id}" cannot be created from these options: ${problems.map(({ message }) => message).join("; ")}.`,
    hint: problems.find(({ hint }) => hint !== undefined)?.hint ?? `It takes: ${Object.keys(schema.shape).join(", ")}.`,
    data: { environment: id, problems: problems.map(({ path, message }) => ({ path: path.map(String), message })) },
  });
}
