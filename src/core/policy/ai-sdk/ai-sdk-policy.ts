import type { PartType } from "../../../contract/message.ts";
import type { Policy } from "../../../contract/policy.ts";
import { servedPolicy } from "../serving/served-policy.ts";
import type { ServingOptions } from "../serving/serving-options.ts";
import { type CallSetting, callOptions, callSettings } from "./call-options.ts";
import { generatedAction } from "./generated-action.ts";
import type { AiSdkModel, CallOptions, Generated, LanguageModelV4 } from "./language-model.ts";
import { providerFailure } from "./provider-failure.ts";

/** The options of {@link aiSdkPolicy}. */
export interface AiSdkOptions extends ServingOptions {
  /** The name of the policy. Default: the provider and the model. */
  readonly name?: string;
  /** The part types that the model can read. Default: text. Earlier reasoning is accepted but not sent. */
  readonly accepts?: readonly PartType[];
  /** Options that are specific to the provider, such as `{ openai: { logprobs: true, reasoningEffort: "low" } }`. */
  readonly providerOptions?: CallOptions["providerOptions"];
  /** Settings of each call to leave out, such as `["temperature"]` for models that refuse it. None by default. */
  readonly omit?: readonly CallSetting[];
  /** The key that the provider sends. It is removed from all errors. */
  readonly apiKey?: string | undefined;
  /** Called once for each warning of the provider about a setting that it ignores, such as a seed. */
  readonly onWarning?: (warning: string) => void;
}

/**
 * Creates a policy from a language model of the AI SDK, such as `openai("gpt-5-mini")` from `@ai-sdk/openai`. Tools are
 * sent as schemas, and the environment executes them. The policy has no access to token ids. It returns
 * log-probabilities if `providerOptions` requests them and the provider returns them.
 *
 * It fails like `openAICompatiblePolicy`, without the provider's own retries: with `policy.unavailable` after all
 * retries, immediately with `policy.unauthorized`, `policy.rejected` and `policy.prompt-too-long`, and with
 * `policy.unsupported-input` for input that the model does not accept. Throws `config.invalid` for invalid options.
 */
export function aiSdkPolicy(model: AiSdkModel, options: AiSdkOptions = {}): Policy {
  const { name = `${model.provider}:${model.modelId}`, providerOptions, omit = [], onWarning } = options;
  const warned = new Set<string>();
  return servedPolicy({ ...options, name }, async (request, signal) => {
    const call = callOptions(request, { version: model.specificationVersion, signal, omit });
    // callOptions and generatedAction handle the differences of older interface versions.
    const { doGenerate } = model as LanguageModelV4;
    let generated: Generated;
    try {
      generated = await doGenerate.call(model as LanguageModelV4, {
        ...call,
        ...(providerOptions === undefined ? {} : { providerOptions }),
      });
    } catch (error) {
      throw providerFailure(
        error,
        model.modelId,
        callSettings.filter((setting) => call[setting] !== undefined),
      );
    }
    const result = generatedAction(generated, request.sampling);
    for (const warning of generated.warnings ?? []) {
      const text = warningText(warning);
      if (!warned.has(text)) onWarning?.(text);
      warned.add(text);
    }
    return result;
  });
}

function warningText(warning: Generated["warnings"][number]): string {
  if (warning.type === "other") return warning.message;
  if (warning.type === "deprecated") return `${warning.setting}: ${warning.message}`;
  const { type, feature, details } = warning;
  return `${type}: ${feature}${details === undefined ? "" : ` (${details})`}`;
}
