import type { CodeError } from "../../../sandbox/execution.ts";
import { errorText } from "./code-feedback.ts";

/**
 * Returns why the program of several agents does not load, for an agent whose own code loads. Returns undefined if the
 * program loads or the agent's own code is the cause. An error is shown only if every agent's code loads alone but not
 * together. Otherwise, the error could contain another agent's code.
 */
export function programProblem(
  loadError: CodeError | undefined,
  { ownLoads, allLoad }: { readonly ownLoads: boolean; readonly allLoad: boolean },
): string | undefined {
  if (loadError === undefined || !ownLoads) return undefined;
  if (!allLoad) return "The whole program does not load because of another agent's code.";
  const { type, message } = loadError;
  return `Your code does not load together with another agent's code: ${errorText({ type, message }, 0)}.`;
}
