import type { NodeTokens, RecordedCall } from "../../contract/episode.ts";
import type { ActTokens, ModelCall } from "../../contract/policy.ts";
import { withoutUndefined } from "../without-undefined.ts";

/** Returns the model calls of a recorded turn as the policy returned them, with the whole conversation of each. */
export function replayedCalls(records: readonly RecordedCall[]): ModelCall[] {
  const calls: ModelCall[] = [];
  for (const record of records) {
    const { continues, answer, finish, parseErrors, usage } = record;
    const before = continues === undefined ? undefined : calls[continues]!;
    const earlier = before === undefined ? [] : [...before.messages, before.action.message];
    calls.push(
      withoutUndefined<ModelCall>({
        continues,
        messages: [...earlier, ...record.messages],
        tools: record.tools ?? before?.tools,
        action: withoutUndefined({ message: answer, finish, parseErrors }),
        tokens: replayedTokens(record, before?.tokens),
        usage,
      }),
    );
  }
  return calls;
}

function replayedTokens({ prompt, completion }: RecordedCall, before: ActTokens | undefined): ActTokens | undefined {
  if (prompt === undefined || completion === undefined) return undefined;
  const extendsPrevious = !prompt.startsSequence;
  const earlier = extendsPrevious ? before!.promptLength + before!.completionIds.length : 0;
  return {
    extendsPrevious,
    newPromptIds: prompt.ids,
    promptLength: earlier + prompt.ids.length,
    ...replayedCompletion(completion),
  };
}

/** Returns the sampled part of an action's tokens from its record. */
export function replayedCompletion({
  ids,
  logprobs = [],
  supports,
  weightsVersion = 0,
}: Pick<NodeTokens, "ids"> & Partial<NodeTokens>): Pick<
  ActTokens,
  "completionIds" | "logprobs" | "supports" | "weightsVersion"
> {
  return { completionIds: ids, logprobs, ...(supports === undefined ? {} : { supports }), weightsVersion };
}
