import type { ActResult } from "../../../contract/policy.ts";

/** A token in the answers of OpenAI's protocols. */
interface AnswerToken {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
  readonly top_logprobs: readonly [];
}

/**
 * Returns the sampled tokens of an answer, with the text of a token if the policy reports it. Otherwise with
 * `token_id:ID`, as vLLM writes tokens by their ids. Null if the policy reports no logprobs.
 */
export function chatLogprobs({ tokens, logprobs }: Pick<ActResult, "tokens" | "logprobs">): AnswerToken[] | null {
  if (logprobs !== undefined) {
    return logprobs.map(({ text, logprob }) => answerToken(text, logprob, [...Buffer.from(text)]));
  }
  if (tokens === undefined) return null;
  const { completionIds, logprobs: values } = tokens;
  return completionIds.map((id, index) => answerToken(`token_id:${id}`, values[index]!, null));
}

function answerToken(token: string, logprob: number, bytes: readonly number[] | null): AnswerToken {
  return { token, logprob, bytes, top_logprobs: [] };
}
