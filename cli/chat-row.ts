import type { AgentEpisode, Episode } from "../src/contract/episode.ts";
import type { Json, JsonObject } from "../src/contract/json.ts";
import { argumentsText, type Message } from "../src/contract/message.ts";
import type { ScoredReward } from "../src/contract/reward.ts";
import { reasoningOf } from "../src/core/tokens/assistant-text.ts";

/** A conversation of one agent with its reward: one line of a training file. */
export interface ChatRow {
  /**
   * The messages in the form of chat templates: role, content, reasoning, and tool calls with their arguments as JSON
   * text.
   */
  readonly messages: readonly Json[];
  /** The total reward of the agent in the episode. */
  readonly reward: number;
  readonly components: Readonly<Record<string, number>>;
  /** The id of the task. */
  readonly task: string;
  readonly agent: string;
  /** The variables of the chat template, if the environment set some. */
  readonly chat_template_kwargs?: JsonObject;
}

/**
 * Returns the conversations of an episode in which agents acted, with their rewards. Skips unscored agents. If the
 * environment started an agent's conversation again, each conversation is a row.
 */
export function chatRows(episode: Episode): ChatRow[] {
  if (episode.status === "failed" || episode.status === "aborted") return [];
  return Object.entries(episode.agents).flatMap(([agent, played]) => {
    const { reward } = played;
    if (reward.status !== "scored") return [];
    return conversations(played).map((messages) => row({ messages, reward, agent, task: episode.task.id, played }));
  });
}

function row(options: {
  readonly messages: readonly Message[];
  readonly reward: ScoredReward;
  readonly agent: string;
  readonly task: string;
  readonly played: AgentEpisode;
}): ChatRow {
  const { messages, reward, agent, task, played } = options;
  const { templateVariables } = played;
  return {
    messages: messages.map(chatMessage),
    reward: reward.value,
    components: reward.components,
    task,
    agent,
    ...(templateVariables === undefined ? {} : { chat_template_kwargs: templateVariables }),
  };
}

/** Returns the paths from a root to the last action on it. */
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

/** Converts a message. Its reasoning is a field of its own, so that chat templates decide where it appears. */
function chatMessage(message: Message): Json {
  const { role, content, toolCalls, toolCallId, name } = message;
  const reasoning = reasoningOf(message);
  const parts = content.filter(({ type }) => type !== "reasoning");
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = toolCalls?.map(({ id, name: tool, ...given }) => ({
    id,
    type: "function",
    function: { name: tool, arguments: argumentsText(given) },
  }));
  return {
    role,
    content: parts.some(({ type }) => type === "image") ? parts.map((part) => ({ ...part })) : text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls === undefined ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(name === undefined ? {} : { name }),
  };
}
