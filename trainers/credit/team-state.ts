import type { AgentEpisode, Episode, MessageNode } from "../../src/contract/episode.ts";
import { type Message, textMessage, textOf } from "../../src/contract/message.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";

/** A turn, and what the critic reads of it: `v`, every agent's conversation up to it; `q`, also what each then did. */
interface TeamTurn {
  readonly turn: number;
  readonly input: "v" | "q";
}

/**
 * The tokens that a team's critic reads of one turn: every acting agent's conversation, by agent, as one message. A
 * text of more than `maxLength` tokens loses the beginning of every agent's part until it fits, so that the newest of
 * each stays.
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
  // The most characters of each part that fit, by halving.
  let fits = 0;
  let above = textOf(teamText(episode, { ...place, newest: Number.POSITIVE_INFINITY })).length;
  while (above - fits > 1) {
    const middle = Math.floor((fits + above) / 2);
    if (render(middle).length <= maxLength) fits = middle;
    else above = middle;
  }
  // A critic too short even for the agents' names reads the end of them.
  return { ids: render(fits).slice(-maxLength), truncated: true };
}

/** The message, with no more than `newest` characters of the end of each part. */
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

/** The messages before a node, oldest first. */
function conversation({ nodes }: AgentEpisode, node: MessageNode): Message[] {
  const messages: Message[] = [];
  for (let at = node.parent; at !== null; at = nodes[at]!.parent) messages.unshift(nodes[at]!.message);
  return messages;
}
