import type { AgentId } from "../contract/action.ts";
import type { Json } from "../contract/json.ts";
import type { PartType } from "../contract/message.ts";
import type { SamplingSettings } from "../contract/sampler.ts";
import { loadConfig } from "../core/config/index.ts";
import { type PolicyName, parsePolicyName } from "../core/policy/policy-name.ts";
import type { PolicySpecification } from "../core/policy/policy-specification.ts";
import type { ServingOptions } from "../core/policy/serving/serving-options.ts";
import { withoutSecretValues, withoutUrlSecrets } from "../core/text/url-secrets.ts";
import { checkPolicyOptions, type PolicyFile, policyFileSchema } from "./policy-file-schema.ts";

/** A model, and how it is asked: what a policy file says, or a name with options on the command line. */
export interface PolicySettings extends ServingOptions {
  /**
   * A name as `parsePolicyName` reads it; with `baseUrl` the model's name as that server has it. Of a team, the names of
   * its agents and their models, for people to read.
   */
  readonly model: string;
  /** Of a team: the model of each agent. It then has no settings of its own but a name. */
  readonly agents?: Readonly<Record<AgentId, PolicySettings>>;
  /** The model under an adapter, instead of the one that the adapter names. */
  readonly base?: string;
  /** Of a model of this machine: a Jinja file instead of its own chat template, or `"none"`. */
  readonly chatTemplate?: string;
  /** Of a model of this machine: what its chat template sees by name. */
  readonly templateVariables?: Readonly<Record<string, Json>>;
  /** Of a hub id: branch, tag or commit. */
  readonly revision?: string;
  /** What logs call it; the model by default. */
  readonly name?: string;
  readonly baseUrl?: string;
  readonly endpoint?: "chat" | "completions";
  /** The environment's variable that holds the key. */
  readonly apiKeyVariable?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Variables that hold the values of further headers, by header. */
  readonly headerVariables?: Readonly<Record<string, string>>;
  readonly accepts?: readonly PartType[];
  /** Its own settings, over those that it is asked with. */
  readonly sampling?: Partial<SamplingSettings>;
  /** What bounds an episode, of the model that eval or collect plays with. */
  readonly limits?: { readonly turns?: number; readonly tokens?: number; readonly seconds?: number };
  readonly logprobs?: boolean;
  readonly tokenIds?: boolean;
  readonly processedLogprobs?: boolean;
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/**
 * The settings of a policy that a command line names: by a policy file (YAML or JSON), or by the name of a model, with
 * `key=value` options over them. Throws `config.invalid` with each option at fault, also for one that this kind of
 * model does not have, and `data.not-found`.
 */
export async function readPolicySettings(name: string, options: readonly string[] = []): Promise<PolicySettings> {
  const isFile = parsePolicyName(name).kind === "engine" && /\.(ya?ml|json)$/i.test(name);
  if (!isFile && options.length === 0) return { model: name };
  return readSettings(isFile ? { path: name } : { text: JSON.stringify({ model: name }), name: "--model" }, options);
}

/**
 * The settings of a policy that a config specifies: by a name or a policy file, or by the keys of one. `what` says in
 * errors what the policy is for. Throws as {@link readPolicySettings} does.
 */
export async function specifiedSettings(given: PolicySpecification, what: string): Promise<PolicySettings> {
  if (typeof given === "string") return readPolicySettings(given);
  return readSettings({ text: JSON.stringify(given), name: what }, []);
}

/** The settings in a policy file or in a text of the same keys. Throws as {@link readPolicySettings} does. */
export async function readSettings(
  source: { readonly path: string } | { readonly text: string; readonly name: string },
  overrides: readonly string[],
): Promise<PolicySettings> {
  const read = await loadConfig({ ...source, schema: policyFileSchema, overrides, option: "--model-option" });
  // Without the keys that are undefined.
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
  const members: Record<AgentId, PolicySettings> = {};
  const file = "path" in source ? source.path : source.name;
  for (const [agent, given] of Object.entries(agents ?? {})) {
    const member = await specifiedSettings(given, `${file}, agents.${agent}`);
    members[agent] = withDefaults(member, JSON.parse(JSON.stringify(defaults)) as TeamDefaults);
  }
  const model = Object.entries(members).map(([agent, member]) => `${agent}=${member.model}`);
  return {
    model: model.join(" "),
    agents: members,
    ...(name === undefined ? {} : { name }),
    ...(limits && { limits }),
  };
}

/** What a team says of all its models. */
type TeamDefaults = Pick<PolicySettings, "sampling" | "base" | "chatTemplate" | "templateVariables" | "revision">;

/** The settings of one of a team's models, with what the team says of all of them. */
function withDefaults(settings: PolicySettings, defaults: TeamDefaults): PolicySettings {
  const { agents } = settings;
  if (agents !== undefined) {
    const members = Object.entries(agents).map(([agent, member]) => [agent, withDefaults(member, defaults)]);
    return { ...settings, agents: Object.fromEntries(members) };
  }
  const { sampling = {}, ...more } = defaults;
  const asked = Object.keys(sampling).length === 0 ? {} : { sampling: { ...sampling, ...settings.sampling } };
  const merged = { ...more, ...settings, ...asked };
  checkPolicyOptions(merged, policyNameOf(merged).kind);
  return merged;
}

/** What a config's policy is recorded as: its name, and what else decides what it answers. It holds no key. */
export function recordedPolicy(settings: PolicySettings): PolicySpecification {
  const { agents } = settings;
  const model = withoutUrlSecrets(settings.model);
  const { name = model } = settings;
  if (agents !== undefined) {
    const recorded = Object.entries(agents).map(([agent, member]) => [agent, recordedPolicy(member)]);
    return { ...(name === model ? {} : { name }), agents: Object.fromEntries(recorded) };
  }
  const answering = answerSettings(settings);
  return answering === undefined ? name : { model, ...(name === model ? {} : { name }), ...answering };
}

/** What a policy's settings stand for: with an address of its own, a model is a server's, whatever its name. */
export function policyNameOf({ model, baseUrl }: PolicySettings): PolicyName {
  return baseUrl === undefined ? parsePolicyName(model) : { kind: "server", url: baseUrl, model };
}

/** What else than its name decides what a policy answers, for the record. It holds no key. */
export function answerSettings(settings: PolicySettings): Readonly<Record<string, Json>> | undefined {
  const { base, chatTemplate, templateVariables, revision, ...asked } = settings;
  const model = withoutUrlSecrets(settings.model);
  const { name = model } = settings;
  const { endpoint, extraBody, providerOptions, sampling } = asked;
  const answering = {
    ...(name === model ? {} : { model }),
    ...(base === undefined ? {} : { base }),
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    ...(templateVariables === undefined ? {} : { templateVariables }),
    ...(revision === undefined ? {} : { revision }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(extraBody === undefined ? {} : { extraBody }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(sampling === undefined ? {} : { sampling: { ...sampling } as Json }),
  };
  if (Object.keys(answering).length === 0) return undefined;
  return withoutSecretValues(answering) as Readonly<Record<string, Json>>;
}
