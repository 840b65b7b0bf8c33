import type { AgentEpisode, Episode } from "../../src/contract/episode.ts";
import { textOf } from "../../src/contract/message.ts";
import { readToolMessage } from "../../src/core/tools/tool-message.ts";

/**
 * Returns `tools/calls-mean`, the mean number of tool calls of an agent that may call tools, and `tools/malformed`, the
 * share of its calls that could not be parsed. Returns nothing if no agent may call tools, and no share without calls.
 * `hasTools` returns true if the environment of an episode gives tools to all agents.
 */
export function toolMetrics(
  episodes: readonly Episode[],
  hasTools: (episode: Episode) => boolean,
): Record<string, number> {
  const agents = episodes.flatMap((episode) => {
    const all = Object.values(episode.agents);
    return all.filter((agent) => agent.turns.length > 0 && (hasTools(episode) || mayCallTools(agent)));
  });
  if (agents.length === 0) return {};
  const messages = agents.flatMap(({ nodes, turns }) =>
    turns.map(({ node, finish, parseErrors = [] }) =>
      readToolMessage({ message: nodes[node]!.message, finish, parseErrors }),
    ),
  );
  const malformed = messages.reduce((sum, { problems }) => sum + problems.length, 0);
  const all = messages.reduce((sum, { calls }) => sum + calls.length, malformed);
  return { "tools/calls-mean": all / agents.length, ...(all === 0 ? {} : { "tools/malformed": malformed / all }) };
}

/**
 * Returns true if the prompt describes tools as text, or if a tool has answered. Tools of a single observation are not
 * part of the episode: an agent that only has such tools counts after its first call.
 */
function mayCallTools({ nodes }: AgentEpisode): boolean {
  return nodes.some(
    ({ message }) =>
      message.role === "tool" || (message.role !== "assistant" && textOf(message).includes("<tool_call>")),
  );
}
