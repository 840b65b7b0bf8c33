import { LyceumError } from "../../errors/index.ts";
import { nearestName } from "../../errors/unknown-name.ts";
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
  if (options.apiKey !== undefined) return withKey(module, { name, apiKey: options.apiKey }).languageModel(modelId);
  const named = [provider, ...provider.split("-").toReversed()].map((part) => module[part]);
  const found = [...named, ...Object.values(module)].find(isProvider);
  if (found !== undefined) return found.languageModel(modelId);
  throw new LyceumError({
    code: "config.invalid",
    message: `The package ${name} exports no provider that is ready to use.`,
    hint: "Create the model in a program, and give it to aiSdkPolicy.",
  });
}

/** The provider that the package makes with this key, by its `create...` function. */
function withKey(
  module: Readonly<Record<string, unknown>>,
  { name, apiKey }: { readonly name: string; readonly apiKey: string },
): Provider {
  for (const [exported, create] of Object.entries(module)) {
    if (!/^create[A-Z]/.test(exported) || typeof create !== "function") continue;
    const made: unknown = create({ apiKey });
    if (isProvider(made)) return made;
  }
  throw new LyceumError({
    code: "config.invalid",
    message: `The package ${name} exports no function that makes a provider with a key.`,
    hint: "Put the key into the variable that the package reads, and leave apiKeyVariable out.",
  });
}

function isProvider(value: unknown): value is Provider {
  return typeof (value as Partial<Provider> | undefined)?.languageModel === "function";
}
