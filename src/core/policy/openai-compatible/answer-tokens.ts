import type { ActRequest, ActResult, TokenLogprob } from "../../../contract/policy.ts";
import { malformed, withoutLogprobs } from "../serving/unusable-answer.ts";

/** What a server tells of the tokens of an answer, whatever the form in which it does. */
export interface ToldTokens {
  /** The sampled tokens; absent where log-probabilities were not asked for, or are not told. */
  readonly sampled?: readonly TokenLogprob[] | undefined;
  /** Their ids, where they stand apart. */
  readonly ids?: readonly number[] | null | undefined;
  readonly promptIds?: readonly number[] | null | undefined;
  /** The text that the tokens make, or the least of it; empty if they make a call of a tool. */
  readonly text: string;
  /** How many tokens the server counted, without those of hidden reasoning. */
  readonly counted?: number | undefined;
}

/** What decides whether an answer has tokens to train on. */
export interface AnswerContext {
  readonly request: ActRequest;
  /** Whether the server was asked for log-probabilities; `if-given`: it may answer without any. */
  readonly logprobs: boolean | "if-given";
  /** The log-probabilities are those of the distribution that was sampled from. */
  readonly tokensAreSampled: boolean;
}

/**
 * The tokens to train on, where there is every id and the log-probabilities are of what was sampled from; else the
 * log-probabilities, where there are any. Throws a `RequestFailure` where ids and log-probabilities differ in number, and
 * where log-probabilities were asked for and only some tokens have one, or none has one and the server must give them.
 */
export function answerTokens(
  { sampled, ids, promptIds, ...told }: ToldTokens,
  { request: { previous }, tokensAreSampled, logprobs }: AnswerContext,
): Pick<ActResult, "tokens" | "logprobs"> {
  if (told.text !== "" && (sampled ?? []).length === 0) {
    if (logprobs === true) throw withoutLogprobs();
    return {};
  }
  if (sampled === undefined) return {};
  if (logprobs !== false) checkComplete(sampled, told);
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

/** Throws a `RequestFailure` unless there is a log-probability for each token, the end of the turn left out. */
function checkComplete(
  sampled: readonly TokenLogprob[],
  { text, counted = 0 }: Pick<ToldTokens, "text" | "counted">,
): void {
  if (text === "") return;
  const missing = `has ${sampled.length} log-probabilities`;
  if (sampled.length < counted - 1) throw malformed(`${missing} and ${counted} tokens`);
  // A server may count no tokens. A token of a part of a character has a text of its own.
  const length = sampled.reduce((sum, token) => sum + token.text.length, 0);
  if (length < text.length) throw malformed(`${missing}, whose tokens make ${length} of ${text.length} characters`);
}

function startsWith(ids: readonly number[], beginning: readonly number[]): boolean {
  return ids.length >= beginning.length && beginning.every((id, index) => ids[index] === id);
}
