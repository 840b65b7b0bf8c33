import { LyceumError } from "../../contract/errors/index.ts";

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The usual variables of a provider's key, the most common first, by the name in `PROVIDER:MODEL`. A provider that needs
 * something other than one key (a cloud account, a token of the platform) has none.
 */
const providerVariables: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
  azure: [],
  cerebras: ["CEREBRAS_API_KEY"],
  cohere: ["COHERE_API_KEY"],
  deepinfra: ["DEEPINFRA_API_KEY"],
  deepseek: ["DEEPSEEK_API_KEY"],
  fireworks: ["FIREWORKS_API_KEY"],
  gateway: [],
  google: ["GOOGLE_GENERATIVE_AI_API_KEY"],
  "google-vertex": [],
  "amazon-bedrock": [],
  groq: ["GROQ_API_KEY"],
  huggingface: [],
  mistral: ["MISTRAL_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  perplexity: ["PERPLEXITY_API_KEY"],
  togetherai: [],
  vercel: [],
  xai: ["XAI_API_KEY"],
};

/** The providers that the AI SDK's own packages support. Any other package `@ai-sdk/<name>` works as well. */
export const knownProviders: readonly string[] = Object.keys(providerVariables);

/** The same for servers, by host name. */
const hostVariables: Readonly<Record<string, readonly string[]>> = {
  "api.anthropic.com": ["ANTHROPIC_API_KEY"],
  "api.cerebras.ai": ["CEREBRAS_API_KEY"],
  "api.cohere.ai": ["COHERE_API_KEY"],
  "api.deepinfra.com": ["DEEPINFRA_API_KEY"],
  "api.deepseek.com": ["DEEPSEEK_API_KEY"],
  "api.fireworks.ai": ["FIREWORKS_API_KEY"],
  "api.groq.com": ["GROQ_API_KEY"],
  "api.mistral.ai": ["MISTRAL_API_KEY"],
  "api.openai.com": ["OPENAI_API_KEY"],
  "api.together.ai": ["TOGETHER_API_KEY"],
  "api.together.xyz": ["TOGETHER_API_KEY"],
  "api.x.ai": ["XAI_API_KEY"],
  "dashscope.aliyuncs.com": ["DASHSCOPE_API_KEY"],
  "dashscope-intl.aliyuncs.com": ["DASHSCOPE_API_KEY"],
  "generativelanguage.googleapis.com": ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  "openrouter.ai": ["OPENROUTER_API_KEY"],
  "router.huggingface.co": ["HF_TOKEN"],
};

/**
 * Returns the variables that may contain a provider's key, the most common first. Empty for providers that need
 * something else.
 */
export function providerKeyVariables(provider: string): readonly string[] {
  return Object.hasOwn(providerVariables, provider) ? providerVariables[provider]! : [];
}

/** Returns the value of a variable that a config names. Throws `config.invalid`, with its name, if it is not set. */
export function requiredVariable(name: string, variables: Variables): string {
  const value = variables[name];
  if (value) return value;
  throw new LyceumError({
    code: "config.invalid",
    message: `The environment variable ${name} is not set.`,
    hint: `Set it to the key: export ${name}=...`,
    data: { variable: name },
  });
}

/**
 * Checks that a provider's key is set in one of its usual variables. Throws `config.invalid`, with the name of the
 * variable, if not.
 */
export function checkProviderKey(provider: string, variables: Variables): void {
  const names = providerKeyVariables(provider);
  if (names.length === 0 || names.some((name) => variables[name])) return;
  throw unset(names, `Models of "${provider}"`);
}

/**
 * Returns the key for a server: the provider's key if the address belongs to a provider, else `LYCEUM_API_KEY`, or
 * undefined if that is not set. Throws `config.invalid`, with the name of the variable, for a provider without a key.
 */
export function serverKey(url: string, variables: Variables): string | undefined {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  const names = Object.hasOwn(hostVariables, host) ? hostVariables[host]! : [];
  const own = names.map((name) => variables[name]).find(Boolean);
  const key = own ?? (variables.LYCEUM_API_KEY || undefined);
  if (key === undefined && names.length > 0) throw unset(names, `Models at ${host}`);
  return key;
}

function unset(names: readonly string[], whose: string): LyceumError {
  const [usual, ...others] = names as [string, ...string[]];
  return new LyceumError({
    code: "config.invalid",
    message: `${whose} need a key, but the environment variable ${usual} is not set.`,
    hint: `Set it: export ${usual}=...${others.map((name) => ` (or ${name})`).join("")}. If the key is in another variable, set apiKeyVariable to its name.`,
    data: { variable: usual },
  });
}
