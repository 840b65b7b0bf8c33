import { randomInt } from "node:crypto";
import type { z } from "zod";
import type { SampleRequest } from "../../../src/contract/sampler.ts";
import { promptTokens } from "../protocol/pass-request.ts";
import type * as bodies from "../protocol/requests.ts";

/**
 * Returns the sampler's requests for a request of `asample`. They differ only in their seeds. If the request has no
 * `stop`, `stopTokenIds` is undefined, and the model's own end tokens end a completion. With an empty list, no token
 * does. Throws `server.invalid-request` for prompts with images.
 */
export function sampleRequests({
  prompt,
  num_samples,
  sampling_params: params,
  topk_sample_logprobs: topLogprobs,
}: z.output<typeof bodies.sampleBody>): (Omit<SampleRequest, "stopTokenIds"> & Partial<SampleRequest>)[] {
  const promptIds = [...promptTokens(prompt)];
  const { stop } = params;
  const stops = typeof stop === "string" ? [stop] : (stop ?? []);
  const stopStrings = stops.filter((each) => typeof each === "string");
  const stopIds = stops.filter((each) => typeof each === "number");
  const settings = {
    temperature: params.temperature,
    maxTokens: params.max_tokens ?? Infinity,
    ...(params.top_k > 0 ? { topK: params.top_k } : {}),
    ...(params.top_p < 1 ? { topP: params.top_p } : {}),
    ...(stopStrings.length === 0 ? {} : { stop: stopStrings }),
  };
  const seed = params.seed ?? randomInt(2 ** 31);
  return Array.from({ length: num_samples }, (_, i) => ({
    promptIds,
    settings,
    seed: (seed + i) % 2 ** 31,
    ...(topLogprobs > 0 ? { topLogprobs } : {}),
    ...(stop === undefined || stop === null ? {} : { stopTokenIds: stopIds }),
  }));
}
