import type { TokenLogprob } from "../../src/contract/policy.ts";
import type { SampledToken } from "../../src/contract/sampler.ts";
import type { IncrementalDecoder } from "../../src/core/tokens/incremental-decoder.ts";

/** A sampled token and its text. */
export interface ChoiceToken extends Required<TokenLogprob> {
  /** The most likely tokens of its distribution, likeliest first. Present if the request asks for them. */
  readonly topLogprobs?: readonly Required<TokenLogprob>[];
}

/** OpenAI's value for tokens that are very unlikely. JSON has no infinite numbers. */
const lowestLogprob = -9999;

/**
 * Adds a token to a decoder of the tokens before it, and returns the token with its text. A character of several tokens
 * belongs to the last of them. The text of another likely token is the text that the choice would have had instead.
 * `isLast` adds an incomplete character to the token.
 */
export function choiceToken(
  decoder: IncrementalDecoder,
  { id, logprob, topLogprobs }: Omit<SampledToken, "request">,
  isLast: boolean,
): ChoiceToken {
  const others = topLogprobs?.map(([other]) => decoder.peek(other));
  const text = decoder.push(id) + (isLast ? decoder.flush() : "");
  const top = topLogprobs?.map(([other, value], i) => ({
    text: other === id ? text : others![i]!,
    logprob: Math.max(value, lowestLogprob),
    id: other,
  }));
  return { text, logprob, id, ...(top === undefined ? {} : { topLogprobs: top }) };
}
