import type { AgentEpisode, Group, MessageNode } from "../../src/contract/episode.ts";
import { type Message, textOf } from "../../src/contract/message.ts";
import type { SampleEvent } from "../../src/contract/training-event.ts";

/** Returns the last action of the first episode that has one, as a {@link SampleEvent}. */
export function sampleEvent(step: number, groups: readonly Group[]): SampleEvent | undefined {
  const agents = groups.flatMap((group) => group.episodes).flatMap((episode) => Object.entries(episode.agents));
  const [name, agent] = agents.find(([, { turns }]) => turns.length > 0) ?? [];
  if (name === undefined || agent === undefined) return undefined;
  const isOneOfSeveral = agents.some(([other]) => other !== name);
  return { type: "sample", step, ...(isOneOfSeveral ? { agent: name } : {}), ...lastCompletion(agent) };
}

/**
 * Returns the last action of an agent, with the conversation before it and the agent's reward. The agent must have
 * acted.
 */
export function lastCompletion(
  agent: AgentEpisode,
): Pick<SampleEvent, "prompt" | "messages" | "completion" | "reward"> {
  const node = agent.nodes[agent.turns.at(-1)!.node]!;
  const { reward } = agent;
  const messages = ancestors(agent, node).map(({ message }) => ({ role: message.role, text: shownText(message) }));
  return {
    prompt: messages.map(({ text }) => text).join("\n"),
    ...(messages.length > 1 ? { messages } : {}),
    completion: shownText(node.message),
    ...(reward.status === "scored" ? { reward: reward.value } : {}),
  };
}

/** Marks the sample as a demonstration. The reward is removed, because it says nothing about the model. */
export function asDemonstration({ reward: _, ...sample }: SampleEvent): SampleEvent {
  return { ...sample, demonstration: true };
}

/** Returns the text of a message, with one line for each native tool call. */
function shownText(message: Message): string {
  const calls = (message.toolCalls ?? []).map((call) => `${call.name}(${JSON.stringify(call.arguments)})`);
  return [textOf(message), ...calls].filter((text) => text !== "").join("\n");
}

/** Returns the nodes before a node, oldest first. */
function ancestors(agent: AgentEpisode, node: MessageNode): MessageNode[] {
  const path: MessageNode[] = [];
  for (let parent = node.parent; parent !== null; parent = agent.nodes[parent]!.parent) {
    path.unshift(agent.nodes[parent]!);
  }
  return path;
}
