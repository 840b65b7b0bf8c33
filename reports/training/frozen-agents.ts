import type { RunStartEvent } from "../../src/contract/training-event.ts";

/** Returns the agents that a run does not train, each with its policy, such as `main: openai:gpt-5-mini (frozen)`. */
export function frozenAgents({ agents = {} }: Pick<RunStartEvent, "agents">): string[] {
  return Object.entries(agents).flatMap(([agent, { policy, frozen }]) =>
    frozen === true ? [`${agent}: ${policy} (frozen)`] : [],
  );
}
