import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, Group, MessageNode } from "../../src/contract/episode.ts";
import { type Message, textOf } from "../../src/contract/message.ts";
import type { SampleEvent } from "../../src/contract/training-event.ts";
import { timeline } from "../../src/core/trace/timeline.ts";

/**
 * Returns the last action of the first episode in which a trained agent acted, as a {@link SampleEvent}. With several
 * agents, it also has the messages of all of them, including `frozen` ones.
 */
export function sampleEvent(
  step: number,
  { groups, frozen }: { readonly groups: readonly Group[]; readonly frozen: ReadonlySet<AgentId> },
): SampleEvent | undefined {
  for (const episode of groups.flatMap((group) => group.episodes)) {
    const learner = firstLearner(episode, frozen);
    if (learner !== undefined) return { type: "sample", step, ...sampleOf(episode, learner) };
  }
  return undefined;
}

/** Returns the first agent of an episode that learns and acted. */
export function firstLearner({ agents }: Pick<Episode, "agents">, frozen: ReadonlySet<AgentId>): AgentId | undefined {
  return Object.keys(agents).find((name) => !frozen.has(name) && agents[name]!.turns.length > 0);
}

/** Returns the last action of an agent and, if there are several, the messages and rewards of all agents. */
export function sampleOf(
  { agents }: Pick<Episode, "agents">,
  name: AgentId,
): Omit<SampleEvent, "type" | "step" | "demonstration"> {
  const completion = lastCompletion(agents[name]!);
  if (Object.keys(agents).length === 1) return completion;
  const { messages: _, ...last } = completion;
  const conversation = timeline(agents).map(({ agent, readers, node: { turn, message }, turn: action }) => ({
    turn,
    ...(action === undefined ? { readers } : { author: agent }),
    role: message.role,
    text: shownText(message),
  }));
  const rewards = Object.entries(agents).flatMap(([agent, { reward }]) =>
    reward.status === "scored" ? [[agent, reward.value] as const] : [],
  );
  return { agent: name, ...last, conversation, rewards: Object.fromEntries(rewards) };
}

/**
 * Returns the last action of an agent, with the conversation before it and the agent's reward. The agent must have
 * acted.
 */
function lastCompletion(agent: AgentEpisode): Pick<SampleEvent, "prompt" | "messages" | "completion" | "reward"> {
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

/** Marks the sample as a demonstration. The rewards are removed, because they say nothing about the model. */
export function asDemonstration({ reward: _, rewards: __, ...sample }: SampleEvent): SampleEvent {
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
