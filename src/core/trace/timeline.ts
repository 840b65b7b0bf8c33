import type { AgentEpisode, AgentTurn, MessageNode } from "../../contract/episode.ts";

/** A message of an episode with several agents, and its place among the messages of all agents. */
export interface TimelineEntry {
  /** The agent who wrote it, or who read it first. */
  readonly agent: string;
  /** The agents who got the same message in the same turn. Empty for a message of an agent. */
  readonly readers: readonly string[];
  readonly node: MessageNode;
  /** The facts of the action, for a message of an agent. */
  readonly turn?: AgentTurn;
}

/**
 * Returns the messages of all agents in one order: by turn, first the observations, then the actions. A message that
 * several agents read in the same turn occurs once.
 */
export function timeline(agents: Readonly<Record<string, AgentEpisode>>): TimelineEntry[] {
  const entries = Object.entries(agents).flatMap(([agent, { nodes, turns }]) => {
    const actions = new Map(turns.map((turn) => [turn.node, turn]));
    return nodes.map((node): TimelineEntry => {
      const turn = actions.get(node.id);
      return { agent, readers: turn === undefined ? [agent] : [], node, turn };
    });
  });
  entries.sort((one, other) => one.node.turn - other.node.turn || Number(isAction(one)) - Number(isAction(other)));
  const merged: TimelineEntry[] = [];
  for (const entry of entries) {
    const place = isAction(entry) ? -1 : merged.findIndex((known) => isSameReading(known, entry));
    if (place < 0) merged.push(entry);
    else merged[place] = { ...merged[place]!, readers: [...merged[place]!.readers, entry.agent] };
  }
  return merged;
}

function isAction({ turn }: TimelineEntry): boolean {
  return turn !== undefined;
}

function isSameReading(known: TimelineEntry, { agent, node }: TimelineEntry): boolean {
  if (isAction(known) || known.node.turn !== node.turn || known.readers.includes(agent)) return false;
  return JSON.stringify(known.node.message) === JSON.stringify(node.message);
}
