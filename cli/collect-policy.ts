import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { CollectArguments } from "./create-program.ts";
import { modelSettings } from "./model-arguments.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import type { PolicySettings } from "./policy-settings.ts";

/**
 * Opens the policy that plays: the environment's expert, or a model with the limits of its policy file. Throws
 * `config.invalid` for arguments that exclude each other.
 */
export async function openCollector(
  { policy, model, base, modelOption }: Pick<CollectArguments, "policy" | "model" | "base" | "modelOption">,
  { environment, opener }: { readonly environment: EnvironmentDefinition; readonly opener: PolicyOpener },
): Promise<{ readonly policy: Policy; readonly limits: PolicySettings["limits"] }> {
  if ((policy === "model") !== (model !== undefined)) {
    throw new LyceumError({
      code: "config.invalid",
      message: model === undefined ? "--policy model needs --model." : "--model needs --policy model.",
      hint: "Use for example --policy model --model runs/train/model.",
    });
  }
  const named: PolicySettings =
    model === undefined ? { model: "demonstration" } : await modelSettings({ model, base, modelOption });
  const { limits, ...settings } = named;
  return { policy: await opener.openSettings(settings, { environment }), limits };
}
