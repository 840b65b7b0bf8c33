import { z } from "zod";
import { definePolicy, type PolicyDefinition } from "../define-policy.ts";
import { requiredVariable, serverKey } from "../provider-key.ts";
import { servingKeys } from "../serving/serving-keys.ts";
import { splitAddress } from "../split-address.ts";
import { openAICompatiblePolicy } from "./openai-compatible-policy.ts";
import { onlyModel, type ServedModel, servedModels } from "./served-models.ts";

const text = z.string().min(1);

/** The names of servers that return log-probabilities on request. */
const givesLogprobs: readonly unknown[] = ["vllm", "sglang", "llamacpp", "lyceum"];

/** The names of servers that return token ids on request. */
const givesTokenIds: readonly unknown[] = ["vllm", "lyceum"];

/**
 * The policies of served models: the named one, or the only one of the server. Requests log-probabilities if the server
 * supports them. Opening throws `config.invalid` for a missing environment variable, and if no model is named and the
 * server does not list exactly one.
 */
export const serverDefinition: PolicyDefinition = definePolicy({
  id: "openai-compatible",
  description: "A model on a server: http://HOST/v1#MODEL, or the name of the model with baseUrl.",
  address: "URL#MODEL",
  options: z.object({
    ...servingKeys,
    baseUrl: z.url().optional().describe("The base URL of the API, such as http://127.0.0.1:8000/v1."),
    endpoint: z
      .enum(["chat", "completions"])
      .optional()
      .describe("The endpoint. By default it depends on the prompt format."),
    headers: z.record(text, z.string()).optional().describe("Additional headers by name."),
    headerVariables: z
      .record(text, text)
      .optional()
      .describe("Headers whose values are in environment variables: the variable by header."),
    logprobs: z.boolean().optional().describe("Ask for the log-probability of each token."),
    tokenIds: z.boolean().optional().describe("Ask for token ids (vLLM)."),
    processedLogprobs: z
      .boolean()
      .optional()
      .describe("True if the server returns the log-probabilities of the distribution it sampled from."),
    maxTokensField: z
      .enum(["max_tokens", "max_completion_tokens"])
      .optional()
      .describe("The field with the maximum number of tokens. By default the one that the server accepts."),
    omit: z.array(text).optional().describe("Fields of each request to leave out, such as temperature."),
    reasoningField: z
      .enum(["reasoning_content", "reasoning"])
      .optional()
      .describe("The field of earlier answers in which their reasoning is sent. By default it is not sent."),
    extraBody: z.record(text, z.json()).optional().describe("Additional fields of each request."),
  }),
  open: async ({ baseUrl: base, apiKeyVariable, headers, headerVariables = {}, ...asked }, context) => {
    const { address, completion, name, signal } = context;
    const [baseUrl, model] = base === undefined ? splitAddress(address) : [base, address];
    const apiKey =
      apiKeyVariable === undefined ? serverKey(baseUrl, process.env) : requiredVariable(apiKeyVariable, process.env);
    const secret = Object.entries(headerVariables).map(([header, variable]) => [
      header,
      requiredVariable(variable, process.env),
    ]);
    const request = { baseUrl, apiKey, headers: { ...headers, ...Object.fromEntries(secret) } };
    const listed = servedModels({ ...request, signal });
    let served: ServedModel | undefined;
    if (model === undefined) served = onlyModel(await listed, baseUrl);
    // A server need not list its models. The first request shows whether it serves this one.
    else served = (await listed.catch(() => [])).find(({ id }) => id === model);
    signal?.throwIfAborted();
    return openAICompatiblePolicy({
      endpoint: completion ? "completions" : "chat",
      // Log-probabilities may be missing if they were not requested.
      logprobs: asked.tokenIds === true || (givesLogprobs.includes(served?.ownedBy) && "if-given"),
      tokenIds: givesTokenIds.includes(served?.ownedBy) && asked.logprobs !== false,
      // `lyceum serve-model` reports the log-probabilities of the distribution that it samples from.
      processedLogprobs: served?.ownedBy === "lyceum",
      ...asked,
      ...request,
      name,
      model: model ?? served!.id,
    });
  },
});
