import type { Sample, SampleRequest, Sampler } from "../../src/contract/sampler.ts";
import type { PlayingModel } from "../models/open-policy.ts";

/** A request to a sampler with its sample. */
export interface RecordedSample {
  readonly request: SampleRequest;
  readonly sample: Sample;
}

/** Returns a model whose samplers append each of their samples to `samples`. */
export function recordSamples(model: PlayingModel, samples: RecordedSample[]): PlayingModel {
  const { renderer, maxLength } = model;
  return { renderer, maxLength, snapshot: async () => recordingSampler(await model.snapshot(), samples) };
}

function recordingSampler(sampler: Sampler, samples: RecordedSample[]): Sampler {
  return {
    specificationVersion: "v1",
    version: sampler.version,
    sample: async function* (requests, options) {
      for await (const sample of sampler.sample(requests, options)) {
        samples.push({ request: requests[sample.request]!, sample });
        yield sample;
      }
    },
    close: () => sampler.close(),
  };
}
