import type { Policy } from "../src/contract/policy.ts";
import { type ModelArguments, modelSettings } from "./model-arguments.ts";
import type { PolicyOpener } from "./policy-opener.ts";

/**
 * Opens the models that a server offers. Clients name a model by its key: the policy's name for a single model, and the
 * NAME of `NAME=MODEL` for several. Throws the errors of `modelSettings` and of `PolicyOpener.openSettings`.
 */
export async function openServedModels(
  args: ModelArguments,
  opener: Pick<PolicyOpener, "openSettings">,
): Promise<Readonly<Record<string, Policy>>> {
  const settings = await modelSettings(args);
  if (settings.agents === undefined) {
    const policy = await opener.openSettings(settings);
    return { [policy.name]: policy };
  }
  const policies: Record<string, Policy> = {};
  for (const [name, model] of Object.entries(settings.agents)) policies[name] = await opener.openSettings(model);
  return policies;
}
