import type { NodeTokens } from "../../contract/episode.ts";
import type { LyceumError } from "../../contract/errors/index.ts";
import type { ActTokens } from "../../contract/policy.ts";
import { isTruncated, type SamplingSettings } from "../../contract/sampler.ts";
import { TokenPrefix } from "../../contract/token-prefix.ts";

/** Creates the error for an answer that no policy may give. `what` completes "answered with ...". */
export type Unlikely = (what: string) => LyceumError;

/**
 * Returns the record of a prompt's new tokens, and the whole prompt. `previous` are the tokens that it may extend.
 * Throws if its parts do not add up to the length that the model read.
 */
export function recordPrompt(
  tokens: ActTokens,
  previous: TokenPrefix | undefined,
  unlikely: Unlikely,
): { readonly tokens: NodeTokens; readonly whole: TokenPrefix } {
  const { newPromptIds: ids, promptLength, completionIds, logprobs, extendsPrevious } = tokens;
  if (![ids, completionIds, logprobs].every(Array.isArray)) throw unlikely("tokens that are not lists");
  const before = extendsPrevious ? previous : TokenPrefix.empty;
  if (before === undefined) throw unlikely("a prompt that extends earlier tokens, but there are none");
  const whole = before.append(ids);
  if (whole.length !== promptLength) {
    throw unlikely(`a prompt of ${promptLength} tokens, of which it names ${whole.length}`);
  }
  return { tokens: { ids, mask: 0, startsSequence: !extendsPrevious }, whole };
}

/** Returns the record of the sampled tokens. `asked` are the settings of the request. Throws if they are invalid. */
export function recordCompletion(tokens: ActTokens, asked: SamplingSettings, unlikely: Unlikely): NodeTokens {
  const { sampling = asked } = tokens;
  const { completionIds: ids, logprobs, supports, values, weightsVersion } = tokens;
  if (ids.length !== logprobs.length) {
    throw unlikely(`${ids.length} sampled tokens and ${logprobs.length} log-probabilities`);
  }
  if (!logprobs.every(Number.isFinite)) throw unlikely("a log-probability that is not finite");
  if (supports !== undefined && supports.length !== ids.length) {
    throw unlikely(`${ids.length} sampled tokens and ${supports.length} supports`);
  }
  if (values !== undefined && (values.length !== ids.length + 1 || !values.every(Number.isFinite))) {
    throw unlikely(`${ids.length} sampled tokens and values that are not one finite number more`);
  }
  return {
    ids,
    mask: 1,
    logprobs,
    ...(supports !== undefined ? { supports } : isTruncated(sampling) ? { lacksSupports: true } : {}),
    ...(values === undefined ? {} : { values }),
    weightsVersion,
    temperature: sampling.temperature,
    startsSequence: false,
  };
}
