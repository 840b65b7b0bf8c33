import type { AgentStep, EnvironmentSpec, Observation } from "../../contract/environment.ts";
import { messageProblem } from "../../contract/message-problem.ts";

/*
 * These functions check the contract of environments, because an environment may be plain JavaScript. They return a
 * phrase that follows the environment's name, or undefined if there is no problem.
 */

/** Returns why a spec is invalid. */
export function specProblem({ agents, maxTurns }: EnvironmentSpec): string | undefined {
  if (!Array.isArray(agents) || agents.length === 0) return "has no agents";
  // Agents are keys of objects, so names of properties that all objects have (such as "constructor") are not allowed.
  const misnamed = agents.find((agent) => typeof agent !== "string" || agent in {});
  if (misnamed !== undefined) return `has an agent that cannot be called ${JSON.stringify(misnamed)}`;
  if (new Set(agents).size < agents.length) return "has two agents of one name";
  if (!(maxTurns >= 1)) return `has ${maxTurns} as maxTurns`;
  return undefined;
}

/** Returns why an observation is invalid. */
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

/** Returns why the result of a step for an agent is invalid. */
export function agentStepProblem(agent: string, step: AgentStep): string | undefined {
  if (typeof step?.terminated === "boolean" && typeof step.truncated === "boolean") return undefined;
  return `did not say whether its step terminated or truncated agent "${agent}"`;
}
