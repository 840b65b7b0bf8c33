import { samplerConformance } from "../../src/entry-points/testing.ts";
import type { Model } from "../../trainers/backend/training-backend.ts";
import { describeCases } from "../testing/describe-cases.ts";

/**
 * Declares the tests of the sampler suite for models of bytes that a function opens, one for each test. Call it at the top
 * level of a test file. `close` ends what the function has opened.
 */
export function describeSampler(
  name: string,
  open: () => Promise<{ readonly model: Model; close(): Promise<void> }>,
): void {
  const conformance = samplerConformance(async () => {
    const { model, close } = await open();
    const sampler = await model.snapshot();
    return {
      sampler: {
        specificationVersion: "v1",
        version: sampler.version,
        sample: (requests, options) => sampler.sample(requests, options),
        score: (request, options) => sampler.score!(request, options),
        close: async () => {
          await sampler.close();
          await close();
        },
      },
      promptIds: [72, 105],
      stopTokenIds: model.renderer.stopTokenIds,
      vocabularySize: model.tokenizer.vocabularySize,
    };
  });
  describeCases(name, conformance);
}
