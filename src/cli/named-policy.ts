import { existsSync } from "node:fs";
import { match } from "ts-pattern";
import type { OpenPolicy } from "../../trainers/models/open-policy.ts";
import type { TeamAgents } from "../../trainers/training/team-agents.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import { LyceumError } from "../contract/errors/index.ts";
import type { Policy } from "../contract/policy.ts";
import { demonstrationPolicy } from "../core/policy/demonstration-policy.ts";
import { hostedModelError } from "../core/policy/hosted-model.ts";
import { checkProviderKey, providerKeyVariables, requiredVariable } from "../core/policy/provider-key.ts";
import { replayPolicy } from "../core/policy/replay-policy.ts";
import { withSampling } from "../core/policy/with-sampling.ts";
import { withoutUrlSecrets } from "../core/text/url-secrets.ts";
import { readTrace } from "../core/trace/read-trace.ts";
import { openEnginePolicy } from "./engine-policy.ts";
import { loadProgram } from "./load-program.ts";
import { type PolicySettings, policyNameOf, readPolicySettings } from "./policy-settings.ts";
import { scriptFile } from "./script-file.ts";
import { serverPolicy } from "./server-policy.ts";
import type { SharedEngine } from "./shared-engine.ts";

/** The options of {@link openNamedPolicy}. */
export interface NamedPolicyOptions {
  /** The engine for local models. */
  readonly engine: SharedEngine;
  /** The agents that it plays, for models by agent. Absent for a single policy, such as a judge. */
  readonly agents?: TeamAgents;
  /**
   * True if the model continues the text of its prompt without a chat template. A model of the AI SDK receives the text
   * as a message.
   */
  readonly completion?: boolean;
  /** The environment whose demonstrations the name `demonstration` plays. */
  readonly environment?: Pick<EnvironmentDefinition, "spec" | "demonstrate">;
  readonly signal?: AbortSignal;
}

/**
 * Opens the policy that a name or a policy file on the command line describes. See `parsePolicyName` for the names. A
 * `PolicyOpener` opens policy files with a model for each agent. Optional parts (the engine, a provider's package) are
 * loaded only if the name needs them. Dispose of the policy after use. Throws `config.invalid` for an invalid name, or
 * if its package is not installed.
 */
export async function openNamedPolicy(
  given: string | PolicySettings,
  options: NamedPolicyOptions,
): Promise<OpenPolicy> {
  const { sampling, program, ...settings } = typeof given === "string" ? await readPolicySettings(given) : given;
  await using resources = new AsyncDisposableStack();
  const { policy: model } = resources.use(await openModel(settings, options));
  const sampled = sampling === undefined ? model : withSampling(model, sampling);
  const policy = program === undefined ? sampled : await (await loadProgram(program)).open(sampled);
  if (program !== undefined) resources.defer(async () => policy.close?.());
  const owner = resources.move();
  return { policy, [Symbol.asyncDispose]: () => owner.disposeAsync() };
}

/** Opens the policy without its own sampling settings. */
async function openModel(settings: PolicySettings, options: NamedPolicyOptions): Promise<OpenPolicy> {
  const named = policyNameOf(settings);
  const {
    model,
    name = withoutUrlSecrets(model),
    baseUrl: _,
    base,
    chatTemplate,
    templateVariables,
    revision,
    agents: __,
    ...asked
  } = settings;
  const { engine, agents, completion = false, environment } = options;
  return match(named)
    .returnType<Promise<OpenPolicy>>()
    .with({ kind: "engine" }, async ({ path }) => {
      const hosted = existsSync(path) ? undefined : hostedModelError(path);
      if (hosted !== undefined) throw hosted;
      const which = { path, name, base, chatTemplate, templateVariables, revision };
      return openEnginePolicy({ ...which, engine, agents, completion, signal: options.signal });
    })
    .with({ kind: "server" }, async (server) =>
      owned(await serverPolicy(server, { settings, completion, signal: options.signal })),
    )
    .with({ kind: "provider" }, async ({ provider, model: id }) => {
      const { aiSdkPolicy, providerModel } = await import("../core/policy/ai-sdk/index.ts");
      const { apiKeyVariable, ...serving } = asked;
      if (apiKeyVariable === undefined) checkProviderKey(provider, process.env);
      const key = apiKeyVariable === undefined ? {} : { apiKey: requiredVariable(apiKeyVariable, process.env) };
      const [usual] = providerKeyVariables(provider).flatMap((variable) => process.env[variable] || []);
      const asking = { ...serving, name, apiKey: key.apiKey ?? usual };
      return owned(aiSdkPolicy(await providerModel(provider, id, key), asking));
    })
    .with({ kind: "transformers-js" }, async ({ kind: _kind, ...which }) => {
      const { transformersPolicy } = await import("../core/policy/transformers-js/index.ts");
      return owned(await transformersPolicy({ ...which, name, completion, signal: options.signal }));
    })
    .with({ kind: "scripted" }, async ({ path }) => owned(await scriptFile(path)))
    .with({ kind: "replay" }, async ({ path }) =>
      owned(await replayPolicy(readTrace(path, { signal: options.signal }), { name })),
    )
    .with({ kind: "demonstration" }, async () => owned(demonstrations(environment)))
    .exhaustive();
}

/** Returns a policy that closes itself on disposal. */
function owned(policy: Policy): OpenPolicy {
  return { policy, [Symbol.asyncDispose]: async () => policy.close?.() };
}

function demonstrations(environment: NamedPolicyOptions["environment"]): Policy {
  if (environment?.demonstrate !== undefined) return demonstrationPolicy({ environment });
  throw new LyceumError({
    code: "policy.unsupported-input",
    message:
      environment === undefined
        ? "Demonstrations need an environment, but there is none."
        : `Environment "${environment.spec.id}" has no demonstrations.`,
    hint: "Add a demonstrate function to the environment, or let a model play.",
  });
}
