import type { ActRequest, ActResult, TokenLogprob } from "../../../contract/policy.ts";
import { RequestFailure } from "../serving/request-failure.ts";
import { malformed, withoutLogprobs } from "../serving/unusable-answer.ts";

/** The tokens of an answer as reported by a server, independent of the endpoint. */
export interface ReportedTokens {
  /** The sampled tokens. Absent if logprobs were not requested or not returned. */
  readonly sampled?: readonly TokenLogprob[] | undefined;
  /** The ids of the sampled tokens, if the server returns them in a separate list. */
  readonly ids?: readonly number[] | null | undefined;
  readonly promptIds?: readonly number[] | null | undefined;
  /** The text of the tokens, or a part of it. Empty if the answer is a tool call. */
  readonly text: string;
  /** The server's token count, without hidden reasoning. */
  readonly counted?: number | undefined;
}

/** The settings that decide which tokens of an answer are returned. */
export interface AnswerContext {
  readonly request: ActRequest;
  /** Whether logprobs were requested. `if-given`: the answer may have none. */
  readonly logprobs: boolean | "if-given";
  /** True if the logprobs are under the distribution that the tokens were sampled from. */
  readonly tokensAreSampled: boolean;
}

/**
 * Reads the tokens of an answer by `read`. If no log-probabilities were requested, tokens that cannot be read are
 * ignored, because the answer itself is complete.
 */
export function tokensOf(read: () => ReportedTokens, context: AnswerContext): Pick<ActResult, "tokens" | "logprobs"> {
  try {
    return answerTokens(read(), context);
  } catch (error) {
    if (context.logprobs === false && error instanceof RequestFailure) return {};
    throw error;
  }
}

/**
 * Returns the tokens to train on if all ids are known and the logprobs are under the sampling distribution. Otherwise
 * returns the logprobs, if there are any. Throws a `RequestFailure` if the numbers of ids and logprobs differ, if
 * logprobs were requested and only some tokens have one, or if logprobs are required and there are none.
 */
function answerTokens(
  { sampled, ids, promptIds, ...reported }: ReportedTokens,
  { request: { previous }, tokensAreSampled, logprobs }: AnswerContext,
): Pick<ActResult, "tokens" | "logprobs"> {
  if (reported.text !== "" && (sampled ?? []).length === 0) {
    if (logprobs === true) throw withoutLogprobs();
    return {};
  }
  if (sampled === undefined) return {};
  if (logprobs !== false) checkComplete(sampled, reported);
  if (Array.isArray(ids) && ids.length !== sampled.length) {
    throw malformed(`has ${ids.length} token ids and ${sampled.length} log-probabilities`);
  }
  if (!promptIds || !ids || !tokensAreSampled) {
    return { logprobs: sampled.map((token, index) => (ids ? { ...token, id: ids[index]! } : token)) };
  }
  const extendsPrevious = previous?.ids.toArray().every((id, index) => promptIds[index] === id) ?? false;
  return {
    tokens: {
      extendsPrevious,
      newPromptIds: extendsPrevious ? promptIds.slice(previous!.ids.length) : promptIds,
      promptLength: promptIds.length,
      completionIds: ids,
      logprobs: sampled.map(({ logprob }) => logprob),
      weightsVersion: 0,
    },
  };
}

/** Throws a `RequestFailure` if a token has no logprob. The end-of-turn token may have none. */
function checkComplete(
  sampled: readonly TokenLogprob[],
  { text, counted = 0 }: Pick<ReportedTokens, "text" | "counted">,
): void {
  if (text === "") return;
  const missing = `has ${sampled.length} log-probabilities`;
  if (sampled.length < counted - 1) throw malformed(`${missing} and ${counted} tokens`);
  // If the server reports no usage, the lengths of the texts show missing tokens. A token that is a part of a character
  // has a text too.
  const length = sampled.reduce((sum, token) => sum + token.text.length, 0);
  if (length < text.length) throw malformed(`${missing}, whose tokens make ${length} of ${text.length} characters`);
}
