import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../contract/policy.ts";
import { warn } from "../../text/warn.ts";
import { withoutInlineReasoning } from "../../tokens/split-reasoning.ts";
import { ModelServer } from "./model-server.ts";
import type { ServingOptions } from "./serving-options.ts";
import { type RequestSecrets, withoutSecrets } from "./without-secrets.ts";

/**
 * Creates a policy that answers each request by `ask`, within the limits and retries of a {@link ModelServer}. Its
 * errors contain no secrets. Throws `config.invalid` for invalid options.
 */
export function servedPolicy(
  options: ServingOptions & RequestSecrets & { readonly name: string; readonly accepts?: readonly PartType[] },
  ask: (request: ActRequest, signal: AbortSignal) => Promise<ActResult>,
): Policy {
  const { name, accepts = ["text", "reasoning"] } = options;
  const server = new ModelServer(name, options);
  const unknownReasons = new Set<string>();
  return {
    specificationVersion: "v1",
    name,
    accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      try {
        const result = withoutInlineReasoning(await server.ask(request, (signal) => ask(request, signal)));
        const { finishReason } = result;
        if (finishReason !== undefined && !unknownReasons.has(finishReason)) {
          unknownReasons.add(finishReason);
          warn("Model", `"${name}" ended an answer by "${finishReason}", which is read as "${result.action.finish}".`);
        }
        return result;
      } catch (error) {
        throw withoutSecrets(error, options);
      }
    },
  };
}
