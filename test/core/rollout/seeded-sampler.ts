import type { Sample, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";

/** One batch of requests to a {@link seededSampler}, with its answers. */
export interface SampledBatch {
  readonly requests: readonly SampleRequest[];
  readonly samples: Sample[];
}

/** Samples random letters from each request's seed, shortest first, and records the requests. */
export function seededSampler(version = 1): Sampler & { readonly batches: SampledBatch[] } {
  const batches: SampledBatch[] = [];
  return {
    specificationVersion: "v1",
    version,
    batches,
    sample: async function* (requests) {
      const samples = requests.map((request, index) => sampleOne(request, index));
      const batch: SampledBatch = { requests, samples };
      batches.push(batch);
      samples.sort((first, second) => first.ids.length - second.ids.length);
      for (const sample of samples) {
        await new Promise((resolve) => setImmediate(resolve));
        yield sample;
      }
    },
    close: async () => {},
  };
}

function sampleOne({ seed, settings, stopTokenIds }: SampleRequest, request: number): Sample {
  const random = createRandom(seed);
  const ids: number[] = [];
  const logprobs: number[] = [];
  const length = random.integer(1, 6);
  while (ids.length < settings.maxTokens) {
    logprobs.push(-random.next());
    if (ids.length === length) return { request, ids: [...ids, stopTokenIds[0]!], logprobs, finish: "stop" };
    ids.push(random.integer(97, 122) + 8);
  }
  return { request, ids, logprobs, finish: "length" };
}
