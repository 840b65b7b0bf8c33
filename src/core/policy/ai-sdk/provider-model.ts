import { LyceumError } from "../../../contract/errors/index.ts";
import { nearestName } from "../../../contract/errors/nearest-name.ts";
import { addressOf } from "../hosted-model.ts";
import { importOptional } from "../optional-package.ts";
import { knownProviders } from "../provider-key.ts";
import type { AiSdkModel } from "./language-model.ts";

/** The part of a provider's package that creates models. */
interface Provider {
  languageModel(modelId: string): AiSdkModel;
}

/**
 * Returns a model of a provider's package: `providerModel("openai", "gpt-5-mini")` uses `@ai-sdk/openai`. The package
 * reads its key from the environment unless `apiKey` is given. Throws `config.invalid`, with the package to install, if
 * it is not installed.
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
    hint: address
      ? `Use the model's address instead: ${address}.`
      : near && `Did you mean "${near}"? If not, run npm install ${name}.`,
  });
  const { apiKey } = options;
  const made = createdProvider(module, { provider, apiKey });
  if (made !== undefined) return made.languageModel(modelId);
  throw new LyceumError({
    code: "config.invalid",
    message: `The package ${name} exports no function that creates a provider.`,
    hint: "Create the model in a program and pass it to aiSdkPolicy.",
  });
}

/**
 * Returns the provider that one of the package's `create...` functions creates, preferably the function with the
 * provider's name. Its requests do not follow redirects, because a redirect would leak a key in a custom header such as
 * `x-api-key`.
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
