import type { AgentEpisode, Group, MessageNode } from "../src/contract/episode.ts";
import { type Message, textOf } from "../src/contract/message.ts";
import type { SampleEvent } from "../src/contract/training-event.ts";

/** The last action of the first episode that has one, as a {@link SampleEvent}. */
export function sampleEvent(step: number, groups: readonly Group[]): SampleEvent | undefined {
  const agents = groups.flatMap((group) => group.episodes).flatMap((episode) => Object.entries(episode.agents));
  const [name, agent] = agents.find(([, { turns }]) => turns.length > 0) ?? [];
  if (name === undefined || agent === undefined) return undefined;
  const isOneOfSeveral = agents.some(([other]) => other !== name);
  return { type: "sample", step, ...(isOneOfSeveral ? { agent: name } : {}), ...lastCompletion(agent) };
}

/** The last action of an agent that acted, with the conversation before it and what the agent earned. */
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

/** The sample as an expert's: the reward would say nothing of the model. */
export function asDemonstration({ reward: _, ...sample }: SampleEvent): SampleEvent {
  return { ...sample, demonstration: true };
}

/** A message's text, with its native tool calls one a line. */
function shownText(message: Message): string {
  const calls = (message.toolCalls ?? []).map((call) => `${call.name}(${JSON.stringify(call.arguments)})`);
  return [textOf(message), ...calls].filter((text) => text !== "").join("\n");
}

/** The nodes before one in its conversation, oldest first. */
function ancestors(agent: AgentEpisode, node: MessageNode): MessageNode[] {
  const path: MessageNode[] = [];
  for (let parent = node.parent; parent !== null; parent = agent.nodes[parent]!.parent) {
    path.unshift(agent.nodes[parent]!);
  }
  return path;
}
