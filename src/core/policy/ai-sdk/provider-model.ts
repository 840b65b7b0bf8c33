import { LyceumError } from "../../../contract/errors/index.ts";
import { nearestName } from "../../../contract/errors/unknown-name.ts";
import { addressOf } from "../hosted-model.ts";
import { importOptional } from "../optional-package.ts";
import type { AiSdkModel } from "./language-model.ts";

/** Providers that the AI SDK's makers keep; any other package `@ai-sdk/<name>` works as well. */
export const knownProviders: readonly string[] = [
  "anthropic",
  "azure",
  "cerebras",
  "cohere",
  "deepinfra",
  "deepseek",
  "fireworks",
  "gateway",
  "google",
  "google-vertex",
  "amazon-bedrock",
  "groq",
  "huggingface",
  "mistral",
  "openai",
  "perplexity",
  "togetherai",
  "vercel",
  "xai",
];

/** The part of a provider's package that makes models. */
interface Provider {
  languageModel(modelId: string): AiSdkModel;
}

/**
 * A model of a provider's package: `providerModel("openai", "gpt-5-mini")` is that of `@ai-sdk/openai`, which reads its
 * key from the environment unless one is given. Throws `config.invalid`, with the package to install, where it is not
 * there.
 */
export async function providerModel(
  provider: string,
  modelId: string,
  options: { readonly apiKey?: string } = {},
): Promise<AiSdkModel> {
  const name = `@ai-sdk/${provider}`;
  const near = knownProviders.includes(provider) ? undefined : nearestName(provider, knownProviders);
  const address = addressOf(provider, modelId);
  const module = await importOptional(name, {
    message: `Models of "${provider}" need the package ${name}, which is not installed.`,
    ...(address === undefined ? {} : { hint: `Such a model is asked at an address: ${address}.` }),
    ...(near === undefined || address !== undefined
      ? {}
      : { hint: `Did you mean "${near}"? If not, run npm install ${name}.` }),
  });
  const { apiKey } = options;
  const made = createdProvider(module, { provider, ...(apiKey === undefined ? {} : { apiKey }) });
  if (made !== undefined) return made.languageModel(modelId);
  throw new LyceumError({
    code: "config.invalid",
    message: `The package ${name} exports no function that makes a provider.`,
    hint: "Create the model in a program, and give it to aiSdkPolicy.",
  });
}

/**
 * The provider that the package makes by its `create...` function, the one with the provider's name first. Its requests
 * follow no redirect: a key in a header of its own, such as `x-api-key`, would go to wherever that leads.
 */
function createdProvider(
  module: Readonly<Record<string, unknown>>,
  { provider, apiKey }: { readonly provider: string; readonly apiKey?: string },
): Provider | undefined {
  const names = [provider, ...provider.split("-").toReversed()].map((part) => `create${part}`.replaceAll("-", ""));
  const place = (exported: string): number => {
    const found = names.findIndex((name) => name.toLowerCase() === exported.toLowerCase());
    return found === -1 ? names.length : found;
  };
  const functions = Object.entries(module).filter(([exported]) => /^create[A-Z]/.test(exported));
  for (const [, create] of functions.toSorted(([one], [other]) => place(one) - place(other))) {
    if (typeof create !== "function") continue;
    const made: unknown = create({ fetch: withoutRedirects, ...(apiKey === undefined ? {} : { apiKey }) });
    if (isProvider(made)) return made;
  }
  return undefined;
}

const withoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });

function isProvider(value: unknown): value is Provider {
  return typeof (value as Partial<Provider> | undefined)?.languageModel === "function";
}
