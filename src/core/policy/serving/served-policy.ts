import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../contract/policy.ts";
import { warn } from "../../text/warn.ts";
import { withoutInlineReasoning } from "../../tokens/split-reasoning.ts";
import { ModelServer } from "./model-server.ts";
import type { ServingOptions } from "./serving-options.ts";
import { type RequestSecrets, withoutSecrets } from "./without-secrets.ts";

/** The answer of a server. */
export interface ServedResult extends ActResult {
  /** The types of the parts of its content that are not understood. Their texts are in the action. */
  readonly unknownParts?: readonly string[];
}

/**
 * Creates a policy that answers each request by `ask`, within the limits and retries of a {@link ModelServer}. Its
 * errors contain no secrets. Throws `config.invalid` for invalid options.
 */
export function servedPolicy(
  options: ServingOptions & RequestSecrets & { readonly name: string; readonly accepts?: readonly PartType[] },
  ask: (request: ActRequest, signal: AbortSignal) => Promise<ServedResult>,
): Policy {
  const { name, accepts = ["text", "reasoning"] } = options;
  const server = new ModelServer(name, options);
  const warned = new Set<string>();
  const warnOnce = (of: string, message: string): void => {
    if (!warned.has(of)) warn("Model", message);
    warned.add(of);
  };
  return {
    specificationVersion: "v1",
    name,
    accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      try {
        const { unknownParts = [], ...answer } = await server.ask(request, (signal) => ask(request, signal));
        const result = withoutInlineReasoning(answer);
        const { finishReason } = result;
        if (finishReason !== undefined) {
          warnOnce(
            `reason ${finishReason}`,
            `"${name}" ended an answer by "${finishReason}", which is read as "${result.action.finish}".`,
          );
        }
        for (const type of new Set(unknownParts)) {
          warnOnce(
            `part ${type}`,
            `"${name}" answered with a part of the unknown type "${type}". Its text is kept, if it has one. The rest is ` +
              "left out. This warning is shown once for each type.",
          );
        }
        return result;
      } catch (error) {
        throw withoutSecrets(error, options);
      }
    },
  };
}
