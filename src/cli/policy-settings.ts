import { z } from "zod";
import { loadConfig } from "../config/index.ts";
import { LyceumError } from "../errors/index.ts";
import type { Json } from "../json.ts";
import type { PartType } from "../message/message.ts";
import { type PolicyName, parsePolicyName } from "../policy/policy-name.ts";
import type { PolicySpecification } from "../policy/policy-specification.ts";
import type { SamplingSettings } from "../policy/sampler.ts";
import type { ServingOptions } from "../policy/serving/serving-options.ts";

/** A model, and how it is asked: what a policy file says, or a name with options on the command line. */
export interface PolicySettings extends ServingOptions {
  /** A name as `parsePolicyName` reads it; with `baseUrl` the model's name as that server has it. */
  readonly model: string;
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
  readonly logprobs?: boolean;
  readonly tokenIds?: boolean;
  readonly processedLogprobs?: boolean;
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

const text = z.string().min(1);
const positive = z.number().positive();

/** What any model has. */
const sampled = {
  sampling: z
    .strictObject({
      temperature: z.number().min(0).optional().describe("0 is greedy."),
      maxTokens: z.int().positive().optional().describe("The most tokens of one answer."),
      topK: z.int().positive().optional().describe("Keep the k likeliest tokens."),
      topP: positive.max(1).optional().describe("Keep the likeliest tokens whose probability reaches p."),
      minP: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe("Keep tokens at least this fraction as likely as the likeliest."),
      stop: z.array(text).optional().describe("End an answer before one of these."),
    })
    .optional()
    .describe("How it is sampled, over what it is asked with."),
} as const;

/** How any server is asked. */
const serving = {
  maxConcurrent: z.int().positive().optional().describe("The most requests under way at once."),
  requestsPerMinute: z.int().positive().optional().describe("The most requests within any 60 seconds."),
  tokensPerMinute: positive.optional().describe("The most tokens within any 60 seconds."),
  timeoutMs: positive.optional().describe("The longest wait for one answer, in milliseconds."),
  maxRetries: z.int().nonnegative().optional().describe("Further tries after a failure that may pass."),
  retryDelayMs: positive.optional().describe("The first wait between tries, in milliseconds."),
  maxRetryDelayMs: z.number().nonnegative().optional().describe("The longest wait between tries, in milliseconds."),
  maxRetryAfterMs: z.number().nonnegative().optional().describe("The longest Retry-After that is waited for."),
  accepts: z
    .array(z.enum(["text", "reasoning", "image"]))
    .optional()
    .describe("What the model can read."),
} as const;

/** What a server or provider that asks for a key has. */
const keyed = {
  apiKeyVariable: text
    .optional()
    .describe("The environment's variable with the key; the provider's usual one, or LYCEUM_API_KEY, by default."),
} as const;

/** What only an OpenAI-compatible server has. */
const server = {
  baseUrl: z.url().optional().describe("Where the API begins, such as http://127.0.0.1:8000/v1."),
  endpoint: z.enum(["chat", "completions"]).optional().describe("Where it is asked; by the format by default."),
  headers: z.record(text, z.string()).optional().describe("Further headers, by name."),
  headerVariables: z.record(text, text).optional().describe("Headers whose values the environment's variables hold."),
  logprobs: z.boolean().optional().describe("Ask for the log-probability of each token."),
  tokenIds: z.boolean().optional().describe("Ask for token ids (vLLM)."),
  processedLogprobs: z.boolean().optional().describe("Log-probabilities are those that were sampled from."),
  extraBody: z.record(text, z.json()).optional().describe("Further fields of each request."),
} as const;

/** What only a model of the AI SDK has. */
const provider = {
  providerOptions: z.record(text, z.record(text, z.json())).optional().describe("What only this provider knows."),
} as const;

const schema = z.strictObject({
  model: text.describe("A name as --model takes it; with baseUrl the model's name on that server."),
  name: text.optional().describe("What logs call it; the model by default."),
  ...sampled,
  ...serving,
  ...keyed,
  ...server,
  ...provider,
});

/**
 * The settings of a policy that a command line names: by a policy file (YAML or JSON), or by the name of a model, with
 * `key=value` options over them. Throws `config.invalid` with each option at fault, also for one that this kind of
 * model does not have, and `data.not-found`.
 */
export async function readPolicySettings(name: string, options: readonly string[] = []): Promise<PolicySettings> {
  const isFile = parsePolicyName(name).kind === "engine" && /\.(ya?ml|json)$/i.test(name);
  if (!isFile && options.length === 0) return { model: name };
  const source = isFile ? { path: name } : { text: JSON.stringify({ model: name }), name: "--model" };
  const settings = await loadConfig({ ...source, schema, overrides: options, option: "--model-option" });
  checkKind(settings as PolicySettings);
  return settings as PolicySettings;
}

/**
 * The settings of a policy that a config specifies: by a name or a policy file, or by the keys of one. `what` says in
 * errors what the policy is for. Throws as {@link readPolicySettings} does.
 */
export async function specifiedSettings(given: PolicySpecification, what: string): Promise<PolicySettings> {
  if (typeof given === "string") return readPolicySettings(given);
  const settings = await loadConfig({ text: JSON.stringify(given), name: what, schema, overrides: [] });
  checkKind(settings as PolicySettings);
  return settings as PolicySettings;
}

/** What a config's policy is recorded as: its name, and what else decides what it answers. It holds no key. */
export function recordedPolicy(settings: PolicySettings): PolicySpecification {
  const { model, name = model } = settings;
  const told = answerSettings(settings);
  return told === undefined ? name : { model, ...(name === model ? {} : { name }), ...told };
}

/** What a policy's settings stand for: with an address of its own, a model is a server's, whatever its name. */
export function policyNameOf({ model, baseUrl }: PolicySettings): PolicyName {
  return baseUrl === undefined ? parsePolicyName(model) : { kind: "server", url: baseUrl, model };
}

/** What else than its name decides what a policy answers, for the record. It holds no key. */
export function answerSettings(settings: PolicySettings): Readonly<Record<string, Json>> | undefined {
  const { model, name = model, endpoint, extraBody, providerOptions, sampling } = settings;
  const told = {
    ...(name === model ? {} : { model }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(extraBody === undefined ? {} : { extraBody }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(sampling === undefined ? {} : { sampling: { ...sampling } as Json }),
  };
  return Object.keys(told).length === 0 ? undefined : told;
}

/** Which options each kind of model has, beside `model` and `name`. */
const known: Readonly<Record<PolicyName["kind"], Readonly<Record<string, unknown>>>> = {
  server: { ...sampled, ...serving, ...keyed, ...server },
  provider: { ...sampled, ...serving, ...keyed, ...provider },
  engine: { ...sampled },
  "transformers-js": { ...sampled },
  scripted: {},
  replay: {},
  demonstration: {},
};

function checkKind(settings: PolicySettings): void {
  const { model, name: _, ...options } = settings;
  const own = Object.keys(known[policyNameOf(settings).kind]);
  const foreign = Object.keys(options).find((option) => !own.includes(option));
  if (foreign === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `"${foreign}" is no option of the model ${model}.`,
    hint: [
      ...(own.length === 0 ? [] : [`It has: ${own.join(", ")}.`]),
      ...(own.includes("maxConcurrent")
        ? []
        : ["Models behind a server have options; name its address (http://HOST/v1#MODEL), or give its baseUrl."]),
    ].join(" "),
    data: { model, option: foreign, known: own },
  });
}
