import { textOf } from "../src/message/message.ts";
import type { SampleEvent } from "../src/report/training-event.ts";
import type { AgentEpisode, Group, MessageNode } from "../src/rollout/episode.ts";

/** The last action of the first episode that has one, as a {@link SampleEvent}. */
export function sampleEvent(step: number, groups: readonly Group[]): SampleEvent | undefined {
  const agents = groups.flatMap((group) => group.episodes).flatMap((episode) => Object.values(episode.agents));
  const agent = agents.find(({ turns }) => turns.length > 0);
  if (agent === undefined) return undefined;
  const node = agent.nodes[agent.turns.at(-1)!.node]!;
  const { reward } = agent;
  return {
    type: "sample",
    step,
    prompt: ancestors(agent, node)
      .map(({ message }) => textOf(message))
      .join("\n"),
    completion: textOf(node.message),
    ...(reward.status === "scored" ? { reward: reward.value } : {}),
  };
}

/** The sample as an expert's: the reward would say nothing of the model. */
export function asDemonstration({ reward: _, ...sample }: SampleEvent): SampleEvent {
  return { ...sample, demonstration: true };
}

/** The nodes before one in its conversation, oldest first. */
function ancestors(agent: AgentEpisode, node: MessageNode): MessageNode[] {
  const path: MessageNode[] = [];
  for (let parent = node.parent; parent !== null; parent = agent.nodes[parent]!.parent) {
    path.unshift(agent.nodes[parent]!);
  }
  return path;
}
