import type { ActRequest, ActResult, TokenLogprob } from "../policy.ts";
import { malformed } from "../serving/unusable-answer.ts";

/** What a server tells of the tokens of an answer, whatever the form in which it does. */
export interface ToldTokens {
  /** The sampled tokens; absent where log-probabilities were not asked for, or are not told. */
  readonly sampled?: readonly TokenLogprob[] | undefined;
  /** Their ids, where they stand apart. */
  readonly ids?: readonly number[] | null | undefined;
  readonly promptIds?: readonly number[] | null | undefined;
}

/** What decides whether an answer has tokens to train on. */
export interface AnswerContext {
  readonly request: ActRequest;
  /** The log-probabilities are those of the distribution that was sampled from. */
  readonly tokensAreSampled: boolean;
}

/**
 * The tokens to train on, where there is every id and the log-probabilities are of what was sampled from; else the
 * log-probabilities, where there are any. Throws a `RequestFailure` where ids and log-probabilities differ in number.
 */
export function answerTokens(
  { sampled, ids, promptIds }: ToldTokens,
  { request: { previous }, tokensAreSampled }: AnswerContext,
): Pick<ActResult, "tokens" | "logprobs"> {
  if (sampled === undefined) return {};
  if (Array.isArray(ids) && ids.length !== sampled.length) {
    throw malformed(`has ${ids.length} token ids and ${sampled.length} log-probabilities`);
  }
  if (!promptIds || !ids || !tokensAreSampled) {
    return { logprobs: sampled.map((token, index) => (ids ? { ...token, id: ids[index]! } : token)) };
  }
  return {
    tokens: {
      promptIds,
      extendsPrevious: previous !== undefined && startsWith(promptIds, previous.ids),
      completionIds: ids,
      logprobs: sampled.map(({ logprob }) => logprob),
      weightsVersion: 0,
    },
  };
}

function startsWith(ids: readonly number[], beginning: readonly number[]): boolean {
  return ids.length >= beginning.length && beginning.every((id, index) => ids[index] === id);
}
