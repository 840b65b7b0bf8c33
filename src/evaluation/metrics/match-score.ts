import type { EpisodeEntry } from "../log/episode-entry.ts";
import { seatedPlayer } from "../rotate-seats.ts";

/** Who sat where in an episode of two agents. */
export interface Seats {
  readonly agents: readonly string[];
  /** The players change seats from member to member. */
  readonly rotated: boolean;
}

/**
 * What the first agent's model took from the other's: 1 where it earned more, 0.5 for the same, 0 for less. Undefined
 * where a reward is unknown.
 */
export function matchScore(entry: EpisodeEntry, { agents, rotated }: Seats): number | undefined {
  const [own, other] = agents.map(
    (agent) => entry.agents[rotated ? seatOf(agent, { agents, member: entry.member }) : agent]?.reward,
  );
  if (own === undefined || own === null || other === undefined || other === null) return undefined;
  return own > other ? 1 : own < other ? 0 : 0.5;
}

/** The agent whose seat the model of `agent` sits in, where seats rotate. */
export function seatOf(
  agent: string,
  options: { readonly agents: readonly string[]; readonly member: number },
): string {
  const { agents, member } = options;
  const player = agents.indexOf(agent);
  const seats = agents.length;
  return agents.find((_, seat) => seatedPlayer(seat, { member, players: seats }) === player)!;
}
