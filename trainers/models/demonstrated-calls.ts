import type { AgentProgram } from "../../src/contract/agent-program.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { demonstratedAction, demonstratedTokens } from "../../src/core/policy/demonstration-policy.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";

/**
 * Creates the expert that answers the model calls of an agent program by its `demonstrate` function. The answers have
 * tokens, as if a model had sampled them with certainty.
 */
export function demonstratedCalls(
  { name, demonstrate }: Pick<AgentProgram, "name"> & Required<Pick<AgentProgram, "demonstrate">>,
  renderer: Renderer,
): Policy {
  return {
    specificationVersion: "v1",
    name: `demonstrations of ${name}`,
    accepts: renderer.accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      const action = demonstratedAction(await demonstrate(request));
      return { action, tokens: demonstratedTokens(action.message, request, renderer) };
    },
  };
}
