import { z } from "zod";
import type { AgentId } from "../contract/action.ts";
import { LyceumError } from "../contract/errors/index.ts";
import type { PolicyName } from "../core/policy/policy-name.ts";
import { type PolicySpecification, policySpecificationSchema } from "../core/policy/policy-specification.ts";
import { programSpecificationSchema } from "../core/policy/program-specification.ts";
import { templateVariablesSchema } from "../core/tokens/template-variables.ts";
import type { PolicySettings } from "./policy-settings.ts";

const text = z.string().min(1);
const positive = z.number().positive();

/** The options of every model. */
const sampled = {
  sampling: z
    .strictObject({
      temperature: z.number().min(0).optional().describe("0 is greedy."),
      maxTokens: z.int().positive().optional().describe("The maximum number of tokens per completion."),
      topK: z.int().positive().optional().describe("Keep the k most likely tokens."),
      topP: positive.max(1).optional().describe("Keep the most likely tokens whose total probability reaches p."),
      minP: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe("Keep tokens whose probability is at least this fraction of the highest one."),
      stop: z.array(text).optional().describe("Stop sequences: a completion ends before one of these."),
    })
    .optional()
    .describe("Sampling settings. They replace those of the command."),
} as const;

/** The limits on episodes of the model that eval or collect plays with. */
const bounded = {
  limits: z
    .strictObject({
      turns: z.int().positive().optional().describe("The maximum number of turns of an episode."),
      tokens: z
        .int()
        .positive()
        .optional()
        .describe("The maximum number of tokens that an agent samples in an episode."),
      seconds: positive.optional().describe("The maximum duration of an episode in seconds."),
    })
    .optional()
    .describe("The limits of an episode in eval and collect. The options of these commands replace them."),
} as const;

/** The options of a single model, of every kind. */
const played = {
  program: programSpecificationSchema
    .optional()
    .describe("An agent program that plays. The model answers its model calls; see agents.md."),
} as const;

/** The options of requests to any server. */
const serving = {
  maxConcurrent: z.int().positive().optional().describe("The maximum number of concurrent requests."),
  requestsPerMinute: z.int().positive().optional().describe("The maximum number of requests in 60 seconds."),
  tokensPerMinute: positive.optional().describe("The maximum number of tokens in 60 seconds."),
  timeoutMs: positive.optional().describe("The timeout of one request in milliseconds."),
  maxRetries: z.int().nonnegative().optional().describe("The maximum number of retries after a transient failure."),
  retryDelayMs: positive.optional().describe("The delay before the first retry in milliseconds."),
  maxRetryDelayMs: z.number().nonnegative().optional().describe("The longest delay between retries in milliseconds."),
  maxRetryAfterMs: z
    .number()
    .nonnegative()
    .optional()
    .describe("The longest Retry-After in milliseconds that is accepted."),
  accepts: z
    .array(z.enum(["text", "reasoning", "image"]))
    .optional()
    .describe("The types of content that the model accepts."),
} as const;

/** The options of servers and providers that need a key. */
const keyed = {
  apiKeyVariable: text
    .optional()
    .describe("The environment variable with the key. By default the provider's usual one, or LYCEUM_API_KEY."),
} as const;

/** The options of OpenAI-compatible servers. */
const server = {
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
  extraBody: z.record(text, z.json()).optional().describe("Additional fields of each request."),
} as const;

/** The options of models of the AI SDK. */
const provider = {
  providerOptions: z
    .record(text, z.record(text, z.json()))
    .optional()
    .describe("Options that are specific to the provider."),
} as const;

/** The schema for the options of a provider's model. */
export const providerOptionsSchema: z.ZodType = z.strictObject({ ...sampled, ...serving, ...keyed, ...provider });

/** The options of local models. */
const embedded = {
  base: text.optional().describe("The base model of an adapter, instead of the one that the adapter names."),
  chatTemplate: text
    .optional()
    .describe("A Jinja file that replaces the model's chat template, or none for plain text prompts."),
  templateVariables: templateVariablesSchema
    .optional()
    .describe("Variables of the chat template, such as enable_thinking: false."),
  revision: text.optional().describe("The branch, tag or commit of a hub id."),
} as const;

/** The content of a policy file: the settings of one model, or of a model for each agent. */
export type PolicyFile = Omit<Partial<PolicySettings>, "agents"> & {
  readonly agents?: Readonly<Record<AgentId, PolicySpecification>>;
};

/** The schema of a {@link PolicyFile}. {@link checkPolicyOptions} checks which options a kind of model has. */
export const policyFileSchema: z.ZodType<PolicyFile> = z
  .strictObject({
    model: text.optional().describe("The model, as in --model. With baseUrl, the name of the model on that server."),
    agents: z
      .record(text, policySpecificationSchema)
      .optional()
      .describe("The model of each agent, instead of model: a name, a policy file or the keys of one."),
    name: text.optional().describe("The name in logs. The model by default."),
    ...sampled,
    ...bounded,
    ...played,
    ...embedded,
    ...serving,
    ...keyed,
    ...server,
    ...provider,
  })
  .check((context) => {
    const { model, agents } = context.value;
    if ((model === undefined) !== (agents === undefined)) return;
    const message = "give either model (one for every agent) or agents (a model for each)";
    context.issues.push({ code: "custom", message, input: context.value, path: [] });
  }) as unknown as z.ZodType<PolicyFile>;

/** The options of each kind of model, besides `model` and `name`. */
const known: Readonly<Record<PolicyName["kind"] | "team", Readonly<Record<string, unknown>>>> = {
  server: { ...sampled, ...bounded, ...played, ...serving, ...keyed, ...server },
  provider: { ...sampled, ...bounded, ...played, ...serving, ...keyed, ...provider },
  engine: { ...sampled, ...bounded, ...played, ...embedded },
  team: { ...sampled, ...bounded, ...embedded },
  "transformers-js": { ...sampled, ...bounded, ...played },
  scripted: { ...bounded, ...played },
  replay: bounded,
  demonstration: { ...bounded, ...played },
};

/** Throws `config.invalid` for an option that this kind of model does not have. */
export function checkPolicyOptions(
  { model, name: _, ...options }: Partial<PolicySettings>,
  kind: keyof typeof known,
): void {
  const own = Object.keys(known[kind]);
  const foreign = Object.keys(options).find((option) => !own.includes(option));
  if (foreign === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `"${foreign}" is not an option of ${model === undefined ? "a model for each agent" : `the model ${model}`}.`,
    hint: hintOf({ foreign, own, kind }),
    data: { ...(model === undefined ? {} : { model }), option: foreign, known: own },
  });
}

function hintOf({ foreign, own, kind }: { foreign: string; own: readonly string[]; kind: keyof typeof known }): string {
  const has = own.length === 0 ? [] : [`It has: ${own.join(", ")}.`];
  if (kind === "team")
    return [...has, "Set other options per agent, whose value can be the keys of a policy file."].join(" ");
  if (foreign in embedded) return [...has, "Only local models have it."].join(" ");
  if (own.includes("maxConcurrent")) return has.join(" ");
  return [...has, "Models on a server have it: use the server's URL (http://HOST/v1#MODEL), or set baseUrl."].join(" ");
}
