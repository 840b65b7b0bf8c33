import type { z } from "zod";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { promptTokens } from "../protocol/pass-request.ts";
import { type PromptTargets, promptTargetsFromJson, type TargetLogprobs } from "../protocol/prompt-targets.ts";
import type { sampleBody } from "../protocol/requests.ts";
import { noLogprob, type SampleResult } from "../protocol/sample-result.ts";
import { RequestError } from "./request-error.ts";

/** The scores that a request asks for its prompt. */
interface PromptScoreRequest {
  readonly ids: readonly number[];
  /** The number of last ids whose log-probabilities and most likely tokens are part of the answer. */
  readonly last: number;
  readonly topK: number;
  /** True if the log-probabilities of the prompt's own tokens are part of the answer. */
  readonly withLogprobs: boolean;
  /** Other ids to score, at every place after the first. */
  readonly targets?: PromptTargets | undefined;
}

/**
 * Returns the scores that a request asks for its prompt. Undefined if it asks for none. Throws `RequestError` 400 for
 * fields that the server does not answer, and for more tokens than the prompt has, and `server.invalid-request` for
 * targets that do not fit the prompt.
 */
export function promptScoreRequest(body: z.output<typeof sampleBody>): PromptScoreRequest | undefined {
  if ((body.prompt_alt_tokens_k ?? 0) !== 0) {
    throw new RequestError(400, "prompt_alt_tokens_k is not supported. Use topk_prompt_logprobs.");
  }
  const withLogprobs = body.prompt_logprobs === true;
  const topK = body.topk_prompt_logprobs;
  const lastN = body.prompt_logprobs_last_n ?? undefined;
  const given = body.target_prompt_logprobs ?? undefined;
  if (lastN !== undefined && !withLogprobs) {
    throw new RequestError(400, "prompt_logprobs_last_n needs prompt_logprobs.");
  }
  if (!withLogprobs && topK === 0 && given === undefined) return undefined;
  const ids = [...promptTokens(body.prompt)];
  const last = lastN ?? ids.length - 1;
  if (last >= ids.length) {
    throw new RequestError(400, `prompt_logprobs_last_n is ${last}, but the prompt has ${ids.length} tokens.`);
  }
  const targets = given === undefined ? undefined : promptTargetsFromJson(given, Math.max(0, ids.length - 1));
  return { ids, last, topK, withLogprobs, targets };
}

/** Returns the part of an answer that describes the prompt. Its first token has no log-probability. */
export async function scorePrompt(
  sampler: Sampler,
  { ids, last, topK, withLogprobs, targets }: PromptScoreRequest,
  signal: AbortSignal,
): Promise<Pick<SampleResult, "promptLogprobs" | "topPromptTokens" | "targetPromptLogprobs">> {
  // `last` does not limit targets.
  const scored = targets === undefined ? last : ids.length - 1;
  if (scored > 0 && sampler.score === undefined) throw new RequestError(400, "The backend does not score prompts.");
  const others = targets === undefined ? {} : { targets: targetIds(targets) };
  // A prompt of one token has nothing to score. The sampler refuses a prompt that is too long, before memory is allocated.
  const scores = scored > 0 ? await sampler.score!({ ids, last: scored, topK, ...others }, { signal }) : undefined;
  const promptLogprobs = new Float32Array(ids.length).fill(Number.NaN);
  const top = {
    k: topK,
    ids: new Int32Array(ids.length * topK),
    logprobs: new Float32Array(ids.length * topK).fill(noLogprob),
  };
  if (scores !== undefined) {
    const [from, skipped] = [ids.length - last, scored - last];
    promptLogprobs.set(scores.logprobs.subarray(skipped), from);
    top.ids.set(scores.topIds.subarray(skipped * topK), from * topK);
    top.logprobs.set(scores.topLogprobs.subarray(skipped * topK), from * topK);
  }
  return {
    ...(withLogprobs ? { promptLogprobs } : {}),
    ...(topK > 0 ? { topPromptTokens: top } : {}),
    ...(targets === undefined ? {} : { targetPromptLogprobs: targetLogprobs(targets, scores?.targetLogprobs ?? []) }),
  };
}

/** Returns the ids of each row, without those that ask for nothing. */
function targetIds({ ids, rows }: PromptTargets): Int32Array[] {
  return rows.slice(1).map((end, row) => ids.slice(rows[row], end).filter((id) => id >= 0));
}

function targetLogprobs(targets: PromptTargets, scores: readonly Float32Array[]): TargetLogprobs {
  const values = scores.flatMap((row) => [...row]);
  let next = 0;
  return { targets, logprobs: Float32Array.from(targets.ids, (id) => (id < 0 ? 0 : values[next++]!)) };
}
