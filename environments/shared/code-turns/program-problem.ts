import type { CodeError } from "../../../sandbox/execution.ts";
import { errorText } from "./code-feedback.ts";

/**
 * Why the program of several agents does not load, for an agent whose own code loads; undefined if the program loads
 * or the agent's own code is at fault. What another agent's code raised is not shown, unless every agent's code loads
 * alone, and only all of it together does not.
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
