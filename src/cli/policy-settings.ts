import type { AgentId } from "../contract/action.ts";
import type { Json } from "../contract/json.ts";
import type { PartType } from "../contract/message.ts";
import type { SamplingSettings } from "../contract/sampler.ts";
import { loadConfig } from "../core/config/index.ts";
import { type PolicyName, parsePolicyName } from "../core/policy/policy-name.ts";
import type { PolicySpecification } from "../core/policy/policy-specification.ts";
import type { ProgramSpecification } from "../core/policy/program-specification.ts";
import type { ServingOptions } from "../core/policy/serving/serving-options.ts";
import { withoutSecretValues, withoutUrlSecrets } from "../core/text/url-secrets.ts";
import { withoutUndefined } from "../core/without-undefined.ts";
import { checkPolicyOptions, type PolicyFile, policyFileSchema } from "./policy-file-schema.ts";

/** A model and its options: the content of a policy file, or a name with options on the command line. */
export interface PolicySettings extends ServingOptions {
  /**
   * The name of the model, see `parsePolicyName`. With `baseUrl` it is the name on that server. For a team it lists the
   * agents and their models, for people.
   */
  readonly model: string;
  /** For a team: the model of each agent. A team has no other settings except a name. */
  readonly agents?: Readonly<Record<AgentId, PolicySettings>>;
  /** The base model of an adapter, instead of the one that the adapter names. */
  readonly base?: string;
  /** For local models: a Jinja file that replaces the chat template, or `"none"`. */
  readonly chatTemplate?: string;
  /** For local models: the variables of the chat template. */
  readonly templateVariables?: Readonly<Record<string, Json>>;
  /** For hub ids: the branch, tag or commit. */
  readonly revision?: string;
  /** The name in logs. The model by default. */
  readonly name?: string;
  readonly baseUrl?: string;
  readonly endpoint?: "chat" | "completions";
  /** The environment variable that contains the key. */
  readonly apiKeyVariable?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The environment variables that contain the values of additional headers, by header. */
  readonly headerVariables?: Readonly<Record<string, string>>;
  readonly accepts?: readonly PartType[];
  /** Its sampling settings. They replace those of the request. */
  readonly sampling?: Partial<SamplingSettings>;
  /** The agent program that it answers the model calls of. */
  readonly program?: ProgramSpecification;
  /** The limits of an episode, for the model that eval or collect plays with. */
  readonly limits?: { readonly turns?: number; readonly tokens?: number; readonly seconds?: number };
  readonly logprobs?: boolean;
  readonly tokenIds?: boolean;
  readonly processedLogprobs?: boolean;
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/**
 * Reads the settings of a policy that a command line names: a policy file (YAML or JSON) or the name of a model, with
 * `key=value` options that replace its settings. Throws `config.invalid` with each wrong option, and for options that
 * this kind of model does not have. Throws `data.not-found` for a missing file.
 */
export async function readPolicySettings(name: string, options: readonly string[] = []): Promise<PolicySettings> {
  const isFile = parsePolicyName(name).kind === "engine" && /\.(ya?ml|json)$/i.test(name);
  if (!isFile && options.length === 0) return { model: name };
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
  const read = await loadConfig({ ...source, schema: policyFileSchema, overrides, option: "--model-option" });
  // Removes undefined keys.
  const { agents, ...settings } = JSON.parse(JSON.stringify(read)) as PolicyFile;
  const { model: single } = settings;
  if (agents === undefined && single !== undefined) {
    const whole = { ...settings, model: single };
    checkPolicyOptions(whole, policyNameOf(whole).kind);
    return whole;
  }
  checkPolicyOptions(settings, "team");
  const { name, limits, sampling, base, chatTemplate, templateVariables, revision } = settings;
  const defaults = { sampling, base, chatTemplate, templateVariables, revision };
  const byAgent: Record<AgentId, PolicySettings> = {};
  const file = "path" in source ? source.path : source.name;
  for (const [agent, given] of Object.entries(agents ?? {})) {
    const policy = await specifiedSettings(given, `${file}, agents.${agent}`);
    byAgent[agent] = withDefaults(policy, JSON.parse(JSON.stringify(defaults)) as TeamDefaults);
  }
  const model = Object.entries(byAgent).map(([agent, policy]) => `${agent}=${policy.model}`);
  return { model: model.join(" "), agents: byAgent, name, ...(limits && { limits }) };
}

/** The settings of a team that apply to all its models. */
type TeamDefaults = Pick<PolicySettings, "sampling" | "base" | "chatTemplate" | "templateVariables" | "revision">;

/** Adds the settings of a team to the settings of one of its models. */
function withDefaults(settings: PolicySettings, defaults: TeamDefaults): PolicySettings {
  const { agents } = settings;
  if (agents !== undefined) {
    const completed = Object.entries(agents).map(([agent, policy]) => [agent, withDefaults(policy, defaults)]);
    return { ...settings, agents: Object.fromEntries(completed) };
  }
  const { sampling = {}, ...more } = defaults;
  const asked = Object.keys(sampling).length === 0 ? {} : { sampling: { ...sampling, ...settings.sampling } };
  const merged = { ...more, ...settings, ...asked };
  checkPolicyOptions(merged, policyNameOf(merged).kind);
  return merged;
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

/** Returns the parsed name of a policy. A model with a base URL is a model on a server. Its name is not parsed. */
export function policyNameOf({ model, baseUrl }: PolicySettings): PolicyName {
  return baseUrl === undefined ? parsePolicyName(model) : { kind: "server", url: baseUrl, model };
}

/** Returns the settings, besides the name, that affect a policy's answers. Contains no key. */
export function answerSettings(settings: PolicySettings): Readonly<Record<string, Json>> | undefined {
  const { base, chatTemplate, templateVariables, revision, ...asked } = settings;
  const model = withoutUrlSecrets(settings.model);
  const { name = model } = settings;
  const { endpoint, extraBody, providerOptions, sampling, program } = asked;
  const answering = withoutUndefined({
    model: name === model ? undefined : model,
    ...{ base, chatTemplate, templateVariables, revision, endpoint, extraBody, providerOptions, sampling, program },
  });
  if (Object.keys(answering).length === 0) return undefined;
  return withoutSecretValues(JSON.parse(JSON.stringify(answering)) as Json) as Readonly<Record<string, Json>>;
}
