import type { AgentId } from "../contract/action.ts";
import type { EvaluationManifest } from "./log/manifest.ts";
import { playerOfAgent } from "./rotate-players.ts";

/** The part of a manifest that determines whose rewards count. */
export interface EvaluatedRun {
  readonly spec: Pick<EvaluationManifest["spec"], "agents">;
  readonly identity: Pick<EvaluationManifest["identity"], "rotated" | "frozen">;
}

/**
 * Returns the agents that decide whether an episode is correct, by the episode's `sampleIndex`: all except the frozen
 * ones. If models rotate, these are the agents of the first model, because the others are its opponents.
 */
export function evaluatedAgents({ spec, identity }: EvaluatedRun): (sampleIndex: number) => ReadonlySet<AgentId> {
  const { agents } = spec;
  const { rotated, frozen = [] } = identity;
  if (rotated !== true) {
    const evaluated = new Set(agents.filter((agent) => !frozen.includes(agent)));
    return () => evaluated;
  }
  return (sampleIndex) =>
    new Set(agents.filter((_, index) => playerOfAgent(index, { sampleIndex, players: agents.length }) === 0));
}
