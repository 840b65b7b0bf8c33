import type { AgentEpisode, AgentTurn } from "../../contract/episode.ts";
import { textOf } from "../../contract/message.ts";

/**
 * True if the answer of a turn is reasoning alone: no text, no image and no tool call. Environments read it as empty.
 * Reasoning that the server hides shows in its token counts. False for the turn of a program, which writes its answer
 * itself.
 */
export function isReasoningOnly({ nodes }: Pick<AgentEpisode, "nodes">, { node, usage, calls }: AgentTurn): boolean {
  const message = nodes[node]?.message;
  if (message === undefined || calls !== undefined) return false;
  const { content, toolCalls = [] } = message;
  if (toolCalls.length > 0 || content.some(({ type }) => type === "image") || textOf(message).trim() !== "")
    return false;
  return (
    (usage?.reasoningTokens ?? 0) > 0 || content.some((part) => part.type === "reasoning" && part.text.trim() !== "")
  );
}
