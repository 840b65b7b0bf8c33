import { type Message, textMessage } from "../../../src/contract/message.ts";
import type { ModelCall, Policy } from "../../../src/contract/policy.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { deriveSeed } from "../../../src/core/random/random.ts";

/** One model call: the earlier call that it continues (modulo their number; null begins anew), and what it says. */
export interface PlannedCall {
  readonly continues: number | null;
  readonly text: string;
  /** Overrides the temperature of the request. */
  readonly temperature?: number;
}

/** A policy that makes the planned calls of `model` for each action, and answers with the last answer. */
export function callingPolicy(model: Policy, planOf: (turn: number) => readonly PlannedCall[]): Policy {
  return {
    specificationVersion: "v1",
    name: `calls of ${model.name}`,
    accepts: model.accepts,
    act: async (request) => {
      const calls: ModelCall[] = [];
      const ids: number[][] = [];
      for (const [index, { continues, text, temperature }] of planOf(request.episode?.turn ?? 0).entries()) {
        const place = continues === null || index === 0 ? undefined : continues % index;
        const before = place === undefined ? undefined : calls[place]!;
        const messages: Message[] =
          before === undefined
            ? [textMessage("system", text), ...request.messages]
            : [...before.messages, before.action.message, textMessage("user", text)];
        const { order: _, previous: __, ...asked } = request;
        const sampling = { ...asked.sampling, temperature: temperature ?? asked.sampling.temperature };
        const { action, tokens, usage } = await model.act({
          ...{ ...asked, messages, sampling, seed: deriveSeed(request.seed, index) },
          ...(before === undefined ? {} : { previous: previousOf(before, ids[place!]!) }),
        });
        const prompt = tokens!.extendsPrevious ? [...ids[place!]!, ...tokens!.newPromptIds] : tokens!.newPromptIds;
        ids.push([...prompt, ...tokens!.completionIds]);
        calls.push({
          ...(place === undefined ? {} : { continues: place }),
          ...{ messages, action, tokens: { ...tokens!, sampling }, usage: usage! },
        });
      }
      return { action: calls.at(-1)!.action, calls };
    },
  };
}

function previousOf({ messages }: ModelCall, ids: readonly number[]): { ids: TokenPrefix; messageCount: number } {
  return { ids: TokenPrefix.empty.append(ids), messageCount: messages.length + 1 };
}
