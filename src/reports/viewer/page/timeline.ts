import type { AgentEpisode, AgentTurn, MessageNode } from "../../../contract/episode.ts";

/** A message of an episode of several agents, where it belongs among those of the others. */
export interface TimelineEntry {
  /** Who wrote it, or first read it. */
  readonly agent: string;
  /** Who read it: those to whom the environment gave the same message at once. Empty for what an agent wrote. */
  readonly readers: readonly string[];
  readonly node: MessageNode;
  /** What is known of the action, for what an agent wrote. */
  readonly turn?: AgentTurn;
}

/**
 * The messages of all agents in one order: turn by turn, first what agents read, then what they wrote. A message that
 * several read in the same turn stands once.
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
