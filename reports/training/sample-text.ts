import type { SampleEvent } from "../../src/contract/training-event.ts";
import { formatNumber } from "../../src/core/text/format-numbers.ts";

type Sample = Pick<SampleEvent, "completion" | "reward" | "conversation" | "rewards">;

/** Returns the rewards of a sample as texts: `reward 0.5` or, with several agents, `coder 0.5`, `reviewer 0`. */
export function sampleRewards({ reward, rewards }: Sample): string[] {
  if (rewards !== undefined) return Object.entries(rewards).map(([agent, value]) => `${agent} ${formatNumber(value)}`);
  return reward === undefined ? [] : [`reward ${formatNumber(reward)}`];
}

/** Returns the completion of a sample or, with several agents, the action of each agent in each turn. */
export function sampleActions({
  completion,
  conversation,
}: Sample): { readonly who?: string; readonly text: string }[] {
  if (conversation === undefined) return [{ text: completion }];
  return conversation.flatMap(({ author, turn, text }) =>
    author === undefined ? [] : [{ who: `${author}, turn ${turn + 1}`, text }],
  );
}
