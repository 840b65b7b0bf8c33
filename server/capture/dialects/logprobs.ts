import type { ActResult, TokenLogprob } from "../../../src/contract/policy.ts";

/** The sampled tokens of an answer. */
export interface SampledTokens extends Pick<ActResult, "tokens"> {
  readonly logprobs?: readonly (TokenLogprob & {
    /** The most likely tokens, likeliest first, if the request asks for them. */
    readonly topLogprobs?: readonly TokenLogprob[];
  })[];
}

/** A token in the answers of OpenAI's protocols. */
interface AnswerToken {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
}

/** A token and the most likely tokens of its distribution. */
interface SampledAnswerToken extends AnswerToken {
  readonly top_logprobs: readonly AnswerToken[];
}

/**
 * Returns the sampled tokens of an answer, with the text of a token if the policy reports it. Otherwise with
 * `token_id:ID`, as vLLM writes tokens by their ids. Null if the policy reports no logprobs.
 */
export function chatLogprobs({ tokens, logprobs }: SampledTokens): SampledAnswerToken[] | null {
  if (logprobs !== undefined) {
    return logprobs.map(({ topLogprobs = [], ...token }) => ({
      ...answerToken(token),
      top_logprobs: topLogprobs.map(answerToken),
    }));
  }
  if (tokens === undefined) return null;
  const { completionIds, logprobs: values } = tokens;
  return completionIds.map((id, index) => {
    return { token: `token_id:${id}`, logprob: values[index]!, bytes: null, top_logprobs: [] };
  });
}

function answerToken({ text, logprob }: TokenLogprob): AnswerToken {
  return { token: text, logprob, bytes: [...Buffer.from(text)] };
}
