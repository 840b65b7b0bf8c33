import type { Policy } from "../contract/policy.ts";
import { openAICompatiblePolicy } from "../core/policy/openai-compatible/openai-compatible-policy.ts";
import { onlyModel, type ServedModel, servedModels } from "../core/policy/openai-compatible/served-models.ts";
import { requiredVariable, serverKey } from "../core/policy/provider-key.ts";
import type { PolicySettings } from "./policy-settings.ts";

/** The names of servers that return log-probabilities on request. */
const givesLogprobs: readonly unknown[] = ["vllm", "sglang", "llamacpp"];

/**
 * Creates the policy of a served model: the named one, or the only one of the server. Requests log-probabilities if the
 * server supports them. Throws `config.invalid` for a missing environment variable, and if no model is named and the
 * server does not list exactly one.
 */
export async function serverPolicy(
  { url: baseUrl, model }: { readonly url: string; readonly model?: string },
  options: {
    readonly settings: PolicySettings;
    /** True if the model continues the text of its prompt. */
    readonly completion: boolean;
    readonly signal?: AbortSignal;
  },
): Promise<Policy> {
  const { settings, completion, signal } = options;
  const { model: _, baseUrl: __, apiKeyVariable, headers, headerVariables, ...asked } = settings;
  const apiKey =
    apiKeyVariable === undefined ? serverKey(baseUrl, process.env) : requiredVariable(apiKeyVariable, process.env);
  const request = {
    baseUrl,
    apiKey,
    headers: { ...headers, ...mapValues(headerVariables ?? {}, (name) => requiredVariable(name, process.env)) },
  };
  const listed = servedModels({ ...request, signal });
  let served: ServedModel | undefined;
  if (model === undefined) served = onlyModel(await listed, baseUrl);
  // A server need not list its models. The first request shows whether it serves this one.
  else served = (await listed.catch(() => [])).find(({ id }) => id === model);
  signal?.throwIfAborted();
  return openAICompatiblePolicy({
    endpoint: completion ? "completions" : "chat",
    // Log-probabilities may be missing if they were not requested.
    logprobs: settings.tokenIds === true || (givesLogprobs.includes(served?.ownedBy) && "if-given"),
    tokenIds: served?.ownedBy === "vllm" && settings.logprobs !== false,
    ...asked,
    ...request,
    model: model ?? served!.id,
  });
}

function mapValues(record: Readonly<Record<string, string>>, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
