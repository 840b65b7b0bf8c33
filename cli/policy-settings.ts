import { z } from "zod";
import type { AgentId } from "../src/contract/action.ts";
import type { Json } from "../src/contract/json.ts";
import { loadConfig } from "../src/core/config/index.ts";
import type { PolicySpecification } from "../src/core/policy/policy-specification.ts";
import { withoutSecretValues, withoutUrlSecrets } from "../src/core/text/secrets.ts";
import { engineDefinition } from "./engine-policy.ts";
import {
  type CommonSettings,
  checkPolicyOptions,
  type PolicyFile,
  policyFileSchema,
  unrecordedOptions,
} from "./policy-file-schema.ts";
import { findPolicy } from "./policy-kinds.ts";

/** A model and its options: the content of a policy file, or a name with options on the command line. */
export interface PolicySettings extends CommonSettings {
  /**
   * The name of the model, see `findPolicy`. With `baseUrl` it is the name on that server. For a team it lists the
   * agents and their models, for people.
   */
  readonly model: string;
  /** For a team: the model of each agent. A team has no other settings except a name. */
  readonly agents?: Readonly<Record<AgentId, PolicySettings>>;
}

/**
 * Reads the settings of a policy that a command line names: a policy file (YAML or JSON) or the name of a model, with
 * `key=value` options that replace its settings. Throws `config.invalid` with each wrong option, and for options that
 * this kind of model does not have. Throws `data.not-found` for a missing file.
 */
export async function readPolicySettings(name: string, options: readonly string[] = []): Promise<PolicySettings> {
  const isFile = /\.(ya?ml|json)$/i.test(name) && (await findPolicy({ model: name })).kind === engineDefinition;
  return readSettings(isFile ? { path: name } : { text: JSON.stringify({ model: name }), name: "--model" }, options);
}

/**
 * Reads the settings of a policy that a config specifies: a name, a policy file, or the keys of one. `what` describes
 * its use for errors. Throws the errors of {@link readPolicySettings}.
 */
export async function specifiedSettings(given: PolicySpecification, what: string): Promise<PolicySettings> {
  if (typeof given === "string") return readPolicySettings(given);
  return readSettings({ text: JSON.stringify(given), name: what }, []);
}

/**
 * Reads the settings from a policy file, or from a text with the same keys. Throws the errors of {@link
 * readPolicySettings}.
 */
export async function readSettings(
  source: { readonly path: string } | { readonly text: string; readonly name: string },
  overrides: readonly string[],
): Promise<PolicySettings> {
  const schema = async (config: unknown): Promise<z.ZodType<PolicyFile>> => {
    const named = namedModel.safeParse(config);
    return policyFileSchema(named.success ? (await findPolicy(named.data)).kind : undefined);
  };
  const read = await loadConfig({ ...source, schema, overrides, option: "--model-option" });
  // Removes undefined keys.
  const { agents, ...settings } = JSON.parse(JSON.stringify(read)) as PolicyFile;
  const { model: single } = settings;
  if (agents === undefined && single !== undefined) return checkedSettings({ ...settings, model: single });
  checkPolicyOptions(settings, "team");
  const { name, limits, ...defaults } = settings;
  const byAgent: Record<AgentId, PolicySettings> = {};
  const file = "path" in source ? source.path : source.name;
  for (const [agent, given] of Object.entries(agents ?? {})) {
    byAgent[agent] = await withDefaults(await specifiedSettings(given, `${file}, agents.${agent}`), defaults);
  }
  const model = Object.entries(byAgent).map(([agent, policy]) => `${agent}=${policy.model}`);
  return { model: model.join(" "), agents: byAgent, name, ...(limits && { limits }) };
}

const namedModel = z.object({ model: z.string().min(1), baseUrl: z.unknown().optional() });

async function checkedSettings(settings: PolicySettings): Promise<PolicySettings> {
  checkPolicyOptions(settings, (await findPolicy(settings)).kind);
  return settings;
}

/** Adds the settings of a team to the settings of one of its models. */
async function withDefaults(settings: PolicySettings, defaults: Omit<PolicyFile, "agents">): Promise<PolicySettings> {
  const { agents } = settings;
  if (agents !== undefined) {
    const completed: Record<AgentId, PolicySettings> = {};
    for (const [agent, policy] of Object.entries(agents)) completed[agent] = await withDefaults(policy, defaults);
    return { ...settings, agents: completed };
  }
  const { sampling, ...more } = defaults;
  const sampled = sampling === undefined ? {} : { sampling: { ...sampling, ...settings.sampling } };
  return checkedSettings({ ...more, ...settings, ...sampled });
}

/** Returns what is recorded of a policy: its name, and the settings that affect its answers. Contains no key. */
export function recordedPolicy(settings: PolicySettings): PolicySpecification {
  const { agents } = settings;
  const model = withoutUrlSecrets(settings.model);
  const { name = model } = settings;
  if (agents !== undefined) {
    const recorded = Object.entries(agents).map(([agent, policy]) => [agent, recordedPolicy(policy)]);
    return { ...(name === model ? {} : { name }), agents: Object.fromEntries(recorded) };
  }
  const answering = answerSettings(settings);
  return answering === undefined ? name : { model, ...(name === model ? {} : { name }), ...answering };
}

/** Returns the settings, besides the name, that affect a policy's answers. Contains no key. */
export function answerSettings(settings: PolicySettings): Readonly<Record<string, Json>> | undefined {
  const model = withoutUrlSecrets(settings.model);
  const { agents: _, name = model, limits: __, ...own } = settings;
  const answering = Object.entries({ ...own, model: name === model ? undefined : model }).filter(
    ([key, value]) => value !== undefined && !unrecordedOptions.includes(key),
  );
  if (answering.length === 0) return undefined;
  return withoutSecretValues(Object.fromEntries(answering) as Json) as Readonly<Record<string, Json>>;
}
