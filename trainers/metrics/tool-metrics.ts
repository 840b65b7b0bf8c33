import type { AgentEpisode, Episode } from "../../src/contract/episode.ts";
import { textOf } from "../../src/contract/message.ts";
import { readToolMessage, type ToolMessage } from "../../src/core/tools/tool-message.ts";

/**
 * Returns `tools/calls-mean`, the mean number of tool calls of an episode, and `tools/malformed`, the share of calls that
 * could not be parsed. Returns nothing if there are no calls.
 */
export function toolMetrics(episodes: readonly Episode[]): Record<string, number> {
  const messages = episodes.flatMap(({ agents }) => Object.values(agents).flatMap(messagesWithCalls));
  const malformed = messages.reduce((sum, { problems }) => sum + problems.length, 0);
  const all = messages.reduce((sum, { calls }) => sum + calls.length, malformed);
  return all === 0 ? {} : { "tools/calls-mean": all / episodes.length, "tools/malformed": malformed / all };
}

/** Returns the actions with calls. Other actions are not parsed, because there are many. */
function messagesWithCalls({ nodes, turns }: AgentEpisode): ToolMessage[] {
  return turns.flatMap(({ node, finish, parseErrors = [] }) => {
    const { message } = nodes[node]!;
    const hasCalls =
      message.toolCalls !== undefined || parseErrors.length > 0 || textOf(message).includes("<tool_call>");
    return hasCalls ? [readToolMessage({ message, finish, parseErrors })] : [];
  });
}
