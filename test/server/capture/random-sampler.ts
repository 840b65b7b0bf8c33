import type { Policy } from "../../../src/contract/policy.ts";
import type { Sample, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";

/** A policy whose answers are random bytes, most of them no UTF-8, so that their texts do not encode to the same ids. */
export function randomBytesPolicy(): { readonly policy: Policy; readonly prompts: (readonly number[])[] } {
  const prompts: (readonly number[])[] = [];
  const renderer = createByteRenderer();
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 3,
    sample: async function* (requests) {
      for (const [index, request] of requests.entries()) {
        prompts.push(request.promptIds);
        yield sampleBytes(request, index);
      }
    },
    close: async () => {},
  };
  return { policy: samplerPolicy({ name: "bytes", sampler: () => sampler, renderer }), prompts };
}

function sampleBytes({ seed, settings, stopTokenIds }: SampleRequest, request: number): Sample {
  const random = createRandom(seed);
  const length = random.integer(1, Math.min(8, settings.maxTokens));
  const ids = Array.from({ length }, () => random.integer(97, 255));
  const stops = length < settings.maxTokens;
  if (stops) ids.push(stopTokenIds[0]!);
  return { request, ids, logprobs: ids.map(() => -random.next()), finish: stops ? "stop" : "length" };
}
