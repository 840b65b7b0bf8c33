import { type Message, textMessage, textOf } from "../../src/message/message.ts";
import type { AgentEpisode, Episode, MessageNode } from "../../src/rollout/episode.ts";

/**
 * What a team's critic reads of one turn: every acting agent's conversation up to it, by agent, as one message; for
 * `q` also what each then did.
 */
export function teamState(
  episode: Episode,
  { turn, input }: { readonly turn: number; readonly input: "v" | "q" },
): Message {
  const blocks: string[] = [];
  const actions: string[] = [];
  for (const [agent, record] of Object.entries(episode.agents)) {
    const acted = record.turns.find((own) => own.turn === turn);
    if (acted === undefined) continue;
    const action = record.nodes[acted.node]!;
    blocks.push(`[${agent}]\n${conversation(record, action).map(textOf).join("\n")}`);
    actions.push(`[${agent} answers]\n${textOf(action.message)}`);
  }
  return textMessage("user", [...blocks, ...(input === "q" ? actions : [])].join("\n\n"));
}

/** The messages before a node, oldest first. */
function conversation({ nodes }: AgentEpisode, node: MessageNode): Message[] {
  const messages: Message[] = [];
  for (let at = node.parent; at !== null; at = nodes[at]!.parent) messages.unshift(nodes[at]!.message);
  return messages;
}
