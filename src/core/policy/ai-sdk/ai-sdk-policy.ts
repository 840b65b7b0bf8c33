import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../contract/policy.ts";
import { ModelServer } from "../serving/model-server.ts";
import type { ServingOptions } from "../serving/serving-options.ts";
import { withoutSecrets } from "../serving/without-secrets.ts";
import { callOptions } from "./call-options.ts";
import { generatedAction } from "./generated-action.ts";
import type { AiSdkModel, CallOptions, Generated, LanguageModelV4 } from "./language-model.ts";
import { providerFailure } from "./provider-failure.ts";

/** How a model of the AI SDK is asked. */
export interface AiSdkOptions extends ServingOptions {
  /** What the policy is called; the provider and the model by default. */
  readonly name?: string;
  /** What the model can read; text by default (earlier reasoning is accepted, and left out). */
  readonly accepts?: readonly PartType[];
  /** What only this provider knows, such as `{ openai: { logprobs: true, reasoningEffort: "low" } }`. */
  readonly providerOptions?: CallOptions["providerOptions"];
  /** The key that the provider sends: it stands in no error. */
  readonly apiKey?: string | undefined;
  /** Told once of each setting that the provider says it does not heed, such as a seed. */
  readonly onWarning?: (warning: string) => void;
}

/**
 * The policy of any language model of the AI SDK, such as `openai("gpt-5-mini")` from `@ai-sdk/openai`. Tools are
 * passed on as schemas, and executed by the environment. It sees no token ids; log-probabilities come where the
 * provider is asked for them by `providerOptions` and gives them.
 *
 * Failures are those of {@link openAICompatiblePolicy}, the provider's own retries left out: `policy.unavailable` after
 * every try, `policy.unauthorized`, `policy.rejected` and `policy.prompt-too-long` at once, `policy.unsupported-input`
 * for what the model cannot take. Throws `config.invalid` for options that cannot be.
 */
export function aiSdkPolicy(model: AiSdkModel, options: AiSdkOptions = {}): Policy {
  const { name = `${model.provider}:${model.modelId}`, providerOptions, onWarning } = options;
  const server = new ModelServer(name, options);
  const warned = new Set<string>();
  const generate = async (request: ActRequest, signal: AbortSignal): Promise<ActResult> => {
    const call = callOptions(request, { version: model.specificationVersion, signal });
    // What an older interface takes and gives otherwise is seen to by callOptions and generatedAction.
    const { doGenerate } = model as LanguageModelV4;
    let generated: Generated;
    try {
      generated = await doGenerate.call(model as LanguageModelV4, {
        ...call,
        ...(providerOptions === undefined ? {} : { providerOptions }),
      });
    } catch (error) {
      throw providerFailure(error, model.modelId);
    }
    const result = generatedAction(generated, request.sampling.stop);
    for (const warning of generated.warnings ?? []) {
      const text = warningText(warning);
      if (!warned.has(text)) onWarning?.(text);
      warned.add(text);
    }
    return result;
  };
  return {
    specificationVersion: "v1",
    name,
    accepts: options.accepts ?? ["text", "reasoning"],
    act: async (request) => {
      request.signal?.throwIfAborted();
      try {
        return await server.ask(request, (signal) => generate(request, signal));
      } catch (error) {
        throw withoutSecrets(error, options);
      }
    },
  };
}

function warningText(warning: Generated["warnings"][number]): string {
  if (warning.type === "other") return warning.message;
  if (warning.type === "deprecated") return `${warning.setting}: ${warning.message}`;
  const { type, feature, details } = warning;
  return `${type}: ${feature}${details === undefined ? "" : ` (${details})`}`;
}
