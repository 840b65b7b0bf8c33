import type { AgentEpisode, Episode } from "../contract/episode.ts";
import type { Json } from "../contract/json.ts";
import type { Message } from "../contract/message.ts";
import type { ScoredReward } from "../contract/reward.ts";

/** A conversation of one agent with what it earned: a line of a file to train on. */
export interface ChatRow {
  /** In the form that chat templates take: role, content, and tool calls with their arguments as JSON text. */
  readonly messages: readonly Json[];
  /** Of the agent over the whole episode. */
  readonly reward: number;
  readonly components: Readonly<Record<string, number>>;
  /** The task's id. */
  readonly task: string;
  readonly agent: string;
}

/**
 * The conversations of an episode in which agents acted, with their rewards; none for an agent without a score. An
 * environment that began an agent's conversation anew gives a row for each of them.
 */
export function chatRows(episode: Episode): ChatRow[] {
  if (episode.status === "failed" || episode.status === "aborted") return [];
  return Object.entries(episode.agents).flatMap(([agent, played]) => {
    const { reward } = played;
    if (reward.status !== "scored") return [];
    return conversations(played).map((messages) => row({ messages, reward, agent, task: episode.task.id }));
  });
}

function row(options: {
  readonly messages: readonly Message[];
  readonly reward: ScoredReward;
  readonly agent: string;
  readonly task: string;
}): ChatRow {
  const { messages, reward, agent, task } = options;
  return { messages: messages.map(chatMessage), reward: reward.value, components: reward.components, task, agent };
}

/** The paths from a root to the last action on it. */
function conversations({ nodes, turns }: AgentEpisode): Message[][] {
  const continued = new Set<number>();
  const paths: Message[][] = [];
  for (const { node } of turns.toReversed()) {
    if (continued.has(node)) continue;
    const path: Message[] = [];
    for (let id: number | null = node; id !== null; id = nodes[id]!.parent) {
      continued.add(id);
      path.unshift(nodes[id]!.message);
    }
    paths.unshift(path);
  }
  return paths;
}

/** Reasoning is left out, as it is from the conversations that a model is shown later. */
function chatMessage({ role, content, toolCalls, toolCallId, name }: Message): Json {
  const parts = content.filter(({ type }) => type !== "reasoning");
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = toolCalls?.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return {
    role,
    content: parts.some(({ type }) => type === "image") ? parts.map((part) => ({ ...part })) : text,
    ...(calls === undefined ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(name === undefined ? {} : { name }),
  };
}
