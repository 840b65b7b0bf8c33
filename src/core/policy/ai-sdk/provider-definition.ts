import { z } from "zod";
import { definePolicy, type PolicyDefinition } from "../define-policy.ts";
import { isInstalled } from "../optional-package.ts";
import { checkProviderKey, providerKeyVariables, requiredVariable } from "../provider-key.ts";
import { servingKeys } from "../serving/serving-keys.ts";
import { callSettings } from "./call-options.ts";

/**
 * Returns the policies `PROVIDER:MODEL` of one provider, for any package `@ai-sdk/PROVIDER`. Its description says
 * whether the package is installed and the key is set. Opening throws `config.invalid` if they are not.
 */
export function providerDefinition(provider: string): PolicyDefinition {
  return definePolicy({
    id: provider,
    get description() {
      return describe(provider);
    },
    address: "MODEL",
    options: z.object({
      ...servingKeys,
      providerOptions: z
        .record(z.string().min(1), z.record(z.string().min(1), z.json()))
        .optional()
        .describe("Options that are specific to the provider."),
      omit: z
        .array(z.enum(callSettings))
        .optional()
        .describe("Settings of each call to leave out, such as temperature."),
    }),
    open: async ({ apiKeyVariable, ...serving }, { address, name = `${provider}:${address}` }) => {
      const { aiSdkPolicy, providerModel } = await import("./index.ts");
      if (apiKeyVariable === undefined) checkProviderKey(provider, process.env);
      const given = apiKeyVariable === undefined ? undefined : requiredVariable(apiKeyVariable, process.env);
      const [usual] = providerKeyVariables(provider).flatMap((variable) => process.env[variable] || []);
      const model = await providerModel(provider, address, { apiKey: given });
      return aiSdkPolicy(model, { ...serving, name, apiKey: given ?? usual });
    },
  });
}

function describe(provider: string): string {
  const packageName = `@ai-sdk/${provider}`;
  const installed = isInstalled(packageName) ? "which is installed" : `which npm install ${packageName} installs`;
  const [usual, ...others] = providerKeyVariables(provider);
  const key =
    usual === undefined
      ? "Its package reads the key from a variable of its own."
      : `It reads its key from ${[usual, ...others].join(" or ")}, which ${process.env[usual] ? "is" : "is not"} set.`;
  return `Models named ${provider}:MODEL, called through the package ${packageName}, ${installed}. ${key}`;
}
