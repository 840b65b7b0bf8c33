import type { z } from "zod";
import type { Sampler, ScoreRequest } from "../../../src/contract/sampler.ts";
import { promptTokens } from "../protocol/pass-request.ts";
import type { sampleBody } from "../protocol/requests.ts";
import { noLogprob, type SampleResult } from "../protocol/sample-result.ts";
import { RequestError } from "./request-error.ts";

/** The scores that a request asks for its prompt. */
interface PromptScoreRequest extends ScoreRequest {
  readonly last: number;
  readonly topK: number;
  /** True if the log-probabilities of the prompt's own tokens are part of the answer. */
  readonly withLogprobs: boolean;
}

/** The fields of newer SDKs that the server does not answer. */
const unsupported = ["topk_sample_logprobs", "target_prompt_logprobs", "prompt_alt_tokens_k"] as const;

/**
 * Returns the scores that a request asks for its prompt. Undefined if it asks for none. Throws `RequestError` 400 for
 * fields that the server does not answer, and for more tokens than the prompt has.
 */
export function promptScoreRequest(body: z.output<typeof sampleBody>): PromptScoreRequest | undefined {
  const refused = unsupported.find((name) => body[name] !== undefined && body[name] !== null && body[name] !== 0);
  if (refused !== undefined) {
    throw new RequestError(400, `${refused} is not supported. Use prompt_logprobs or topk_prompt_logprobs.`);
  }
  const withLogprobs = body.prompt_logprobs === true;
  const topK = body.topk_prompt_logprobs;
  const lastN = body.prompt_logprobs_last_n ?? undefined;
  if (lastN !== undefined && !withLogprobs) {
    throw new RequestError(400, "prompt_logprobs_last_n needs prompt_logprobs.");
  }
  if (!withLogprobs && topK === 0) return undefined;
  const ids = [...promptTokens(body.prompt)];
  const last = lastN ?? ids.length - 1;
  if (last >= ids.length) {
    throw new RequestError(400, `prompt_logprobs_last_n is ${last}, but the prompt has ${ids.length} tokens.`);
  }
  return { ids, last, topK, withLogprobs };
}

/** Returns the part of an answer that describes the prompt. Its first token has no log-probability. */
export async function scorePrompt(
  sampler: Sampler,
  { ids, last, topK, withLogprobs }: PromptScoreRequest,
  signal: AbortSignal,
): Promise<Pick<SampleResult, "promptLogprobs" | "topPromptTokens">> {
  if (last > 0 && sampler.score === undefined) throw new RequestError(400, "The backend does not score prompts.");
  // A prompt of one token has nothing to score. The sampler refuses a prompt that is too long, before memory is allocated.
  const scores = last > 0 ? await sampler.score!({ ids, last, topK }, { signal }) : undefined;
  const promptLogprobs = new Float32Array(ids.length).fill(Number.NaN);
  const top = {
    k: topK,
    ids: new Int32Array(ids.length * topK),
    logprobs: new Float32Array(ids.length * topK).fill(noLogprob),
  };
  if (scores !== undefined) {
    promptLogprobs.set(scores.logprobs, ids.length - last);
    top.ids.set(scores.topIds, (ids.length - last) * topK);
    top.logprobs.set(scores.topLogprobs, (ids.length - last) * topK);
  }
  return {
    ...(withLogprobs ? { promptLogprobs } : {}),
    ...(topK > 0 ? { topPromptTokens: top } : {}),
  };
}
