import { nearestName } from "../../contract/errors/nearest-name.ts";
import type { ReturnProblem } from "./validate-prompt.ts";

/** Finds a key of an object that is not known. `rule` adds a suggestion in front of a rule. */
export function unknownKey(
  outcome: object,
  known: readonly string[],
): { readonly found: string; readonly rule: (rule: string) => string } | undefined {
  const key = Object.keys(outcome).find((name) => !known.includes(name));
  if (key === undefined) return undefined;
  const nearest = nearestName(key, known);
  return {
    found: `the unknown key "${key}"`,
    rule: (rule) => (nearest === undefined ? rule : `Did you mean "${nearest}"? ${rule}`),
  };
}

/** Creates the problem for an agent name that the environment does not have. */
export function unknownAgent(
  agent: string,
  { agents, call }: { readonly agents: readonly string[]; readonly call: string },
): ReturnProblem {
  const nearest = nearestName(agent, agents);
  const suggested = nearest === undefined ? "" : `Did you mean "${nearest}"? `;
  return {
    problem: `named the unknown agent "${agent}" in ${call}`,
    rule: `${suggested}Its agents are ${agents.join(", ")}; to return a state as well, use { prompts, state }.`,
  };
}
