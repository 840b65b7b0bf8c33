import type { AgentEpisode, Episode, MessageNode } from "../../src/contract/episode.ts";
import { type Message, textMessage, textOf } from "../../src/contract/message.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";

/** A turn, and what the critic reads: `v` every agent's conversation before the turn, `q` also every agent's action. */
interface TeamTurn {
  readonly turn: number;
  readonly input: "v" | "q";
}

/**
 * Returns the tokens that a team's critic reads for one turn: the conversation of each acting agent, in one message. If
 * there are more than `maxLength` tokens, the beginning of each agent's part is cut until they fit. The newest text
 * stays.
 */
export function teamState(
  episode: Episode,
  options: TeamTurn & { readonly renderer: Renderer; readonly maxLength: number },
): { readonly ids: readonly number[]; readonly truncated: boolean } {
  const { renderer, maxLength, ...place } = options;
  const render = (newest: number): readonly number[] =>
    renderer.start({ messages: [teamText(episode, { ...place, newest })] });
  const whole = render(Number.POSITIVE_INFINITY);
  if (whole.length <= maxLength) return { ids: whole, truncated: false };
  // Binary search for the largest number of characters of each part that fits.
  let fits = 0;
  let above = textOf(teamText(episode, { ...place, newest: Number.POSITIVE_INFINITY })).length;
  while (above - fits > 1) {
    const middle = Math.floor((fits + above) / 2);
    if (render(middle).length <= maxLength) fits = middle;
    else above = middle;
  }
  // If even the agents' names do not fit, the critic reads the end of them.
  return { ids: render(fits).slice(-maxLength), truncated: true };
}

/** Returns the message, with at most `newest` characters from the end of each part. */
function teamText(episode: Episode, { turn, input, newest }: TeamTurn & { readonly newest: number }): Message {
  const end = (text: string): string => text.slice(Math.max(0, text.length - newest));
  const blocks: string[] = [];
  const actions: string[] = [];
  for (const [agent, record] of Object.entries(episode.agents)) {
    const acted = record.turns.find((own) => own.turn === turn);
    if (acted === undefined) continue;
    const action = record.nodes[acted.node]!;
    blocks.push(`[${agent}]\n${end(conversation(record, action).map(textOf).join("\n"))}`);
    actions.push(`[${agent} answers]\n${end(textOf(action.message))}`);
  }
  return textMessage("user", [...blocks, ...(input === "q" ? actions : [])].join("\n\n"));
}

/** Returns the messages before a node, oldest first. */
function conversation({ nodes }: AgentEpisode, node: MessageNode): Message[] {
  const messages: Message[] = [];
  for (let at = node.parent; at !== null; at = nodes[at]!.parent) messages.unshift(nodes[at]!.message);
  return messages;
}
