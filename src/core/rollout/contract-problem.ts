import type { AgentStep, EnvironmentSpec, Observation } from "../../contract/environment.ts";
import { messageProblem } from "../../contract/message-problem.ts";

/*
 * What breaks the shape that the contract asks of an environment, in words that follow the environment's name; undefined
 * where nothing does. Types promise it, but an environment may be plain JavaScript.
 */

/** What keeps a spec from being played. */
export function specProblem({ agents, maxTurns }: EnvironmentSpec): string | undefined {
  if (!Array.isArray(agents) || agents.length === 0) return "has no agents";
  // Records are kept by agent: a name that every object has would be found in an empty one.
  const misnamed = agents.find((agent) => typeof agent !== "string" || agent in {});
  if (misnamed !== undefined) return `has an agent that cannot be called ${JSON.stringify(misnamed)}`;
  if (new Set(agents).size < agents.length) return "has two agents of one name";
  if (!(maxTurns >= 1)) return `has ${maxTurns} as maxTurns`;
  return undefined;
}

/** What keeps an observation from being seen. */
export function observationProblem(agent: string, observation: Observation): string | undefined {
  const { messages, context } = observation ?? {};
  if (!Array.isArray(messages) || messages.length === 0) return `gave agent "${agent}" an empty observation`;
  if (context !== "append" && context !== "replace") return `observed agent "${agent}" in the context ${context}`;
  for (const message of messages) {
    const problem = messageProblem(message);
    if (problem !== undefined) return `gave agent "${agent}" a message that ${problem}`;
  }
  return undefined;
}

/** What keeps a step from meaning something for an agent. */
export function agentStepProblem(agent: string, step: AgentStep): string | undefined {
  if (typeof step?.terminated === "boolean" && typeof step.truncated === "boolean") return undefined;
  return `did not say whether its step terminated or truncated agent "${agent}"`;
}
