import type { EpisodeEntry } from "../log/episode-entry.ts";
import { playerOfAgent } from "../rotate-players.ts";

/** The assignment of models to the agents of an episode. */
export interface MatchAgents {
  readonly agents: readonly string[];
  /** True if models rotate between agents with each sample. */
  readonly rotated: boolean;
}

/**
 * Returns the points of the first agent's model against the second's: 1 for a higher reward, 0.5 for an equal one, 0
 * for a lower one. Returns undefined if a reward is unscored.
 */
export function matchScore(entry: EpisodeEntry, { agents, rotated }: MatchAgents): number | undefined {
  const [own, other] = agents.map(
    (agent) => entry.agents[rotated ? agentOfModel(agent, { agents, sampleIndex: entry.sampleIndex }) : agent]?.reward,
  );
  if (own === undefined || own === null || other === undefined || other === null) return undefined;
  return own > other ? 1 : own < other ? 0 : 0.5;
}

/** Returns the agent that the model of `agent` plays in a sample, if models rotate between agents. */
export function agentOfModel(
  agent: string,
  options: { readonly agents: readonly string[]; readonly sampleIndex: number },
): string {
  const { agents, sampleIndex } = options;
  const player = agents.indexOf(agent);
  return agents.find((_, index) => playerOfAgent(index, { sampleIndex, players: agents.length }) === player)!;
}
