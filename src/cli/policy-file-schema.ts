import { z } from "zod";
import type { AgentId } from "../contract/action.ts";
import { LyceumError } from "../contract/errors/index.ts";
import type { PolicyName } from "../core/policy/policy-name.ts";
import { type PolicySpecification, policySpecificationSchema } from "../core/policy/policy-specification.ts";
import { templateVariablesSchema } from "../core/tokens/template-variables.ts";
import type { PolicySettings } from "./policy-settings.ts";

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

/** What bounds the episodes of the model that eval or collect plays with. */
const bounded = {
  limits: z
    .strictObject({
      turns: z.int().positive().optional().describe("End an episode after so many turns."),
      tokens: z.int().positive().optional().describe("End an episode when an agent has sampled so many tokens in it."),
      seconds: positive.optional().describe("End an episode after so much time."),
    })
    .optional()
    .describe("What bounds an episode that eval or collect plays with it; their options go over it."),
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

/** The options of a provider's model. */
export const providerOptionsSchema: z.ZodType = z.strictObject({ ...sampled, ...serving, ...keyed, ...provider });

/** What only a model of this machine has. */
const embedded = {
  base: text
    .optional()
    .describe("If the model is an adapter: the model that it adapts, instead of the one that the adapter names."),
  chatTemplate: text
    .optional()
    .describe("A Jinja file instead of the model's own chat template, or none: prompts are then plain texts."),
  templateVariables: templateVariablesSchema
    .optional()
    .describe("What the chat template sees by name, such as enable_thinking: false."),
  revision: text.optional().describe("Branch, tag or commit of a hub id."),
} as const;

/** What a policy file says: the settings of one model, or of a model for each agent. */
export type PolicyFile = Omit<Partial<PolicySettings>, "agents"> & {
  readonly agents?: Readonly<Record<AgentId, PolicySpecification>>;
};

/** The schema of a {@link PolicyFile}. Options that a kind of model does not have are left to {@link checkPolicyOptions}. */
export const policyFileSchema: z.ZodType<PolicyFile> = z
  .strictObject({
    model: text.optional().describe("A name as --model takes it; with baseUrl the model's name on that server."),
    agents: z
      .record(text, policySpecificationSchema)
      .optional()
      .describe("Instead of model: the model of each agent, by a name, a policy file or the keys of one."),
    name: text.optional().describe("What logs call it; the model by default."),
    ...sampled,
    ...bounded,
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

/** Which options each kind of model has, beside `model` and `name`. */
const known: Readonly<Record<PolicyName["kind"] | "team", Readonly<Record<string, unknown>>>> = {
  server: { ...sampled, ...bounded, ...serving, ...keyed, ...server },
  provider: { ...sampled, ...bounded, ...serving, ...keyed, ...provider },
  engine: { ...sampled, ...bounded, ...embedded },
  team: { ...sampled, ...bounded, ...embedded },
  "transformers-js": { ...sampled, ...bounded },
  scripted: bounded,
  replay: bounded,
  demonstration: bounded,
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
    message: `"${foreign}" is no option of ${model === undefined ? "a model for each agent" : `the model ${model}`}.`,
    hint: hintOf({ foreign, own, kind }),
    data: { ...(model === undefined ? {} : { model }), option: foreign, known: own },
  });
}

function hintOf({ foreign, own, kind }: { foreign: string; own: readonly string[]; kind: keyof typeof known }): string {
  const has = own.length === 0 ? [] : [`It has: ${own.join(", ")}.`];
  if (kind === "team")
    return [...has, "Give others to each agent: its value may be the keys of a policy file."].join(" ");
  if (foreign in embedded) return [...has, "Only a model of this machine has it."].join(" ");
  if (own.includes("maxConcurrent")) return has.join(" ");
  return [
    ...has,
    "Models behind a server have options; name its address (http://HOST/v1#MODEL), or give its baseUrl.",
  ].join(" ");
}
