import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../contract/policy.ts";
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
  return {
    specificationVersion: "v1",
    name,
    accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      try {
        return withoutInlineReasoning(await server.ask(request, (signal) => ask(request, signal)));
      } catch (error) {
        throw withoutSecrets(error, options);
      }
    },
  };
}
