import { samplerConformance } from "../../../src/entry-points/testing.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { describeBackend } from "../../trainers/describe-backend.ts";
import { tinyConfig } from "./tiny-config.ts";

const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;

describeBackend("embedded engine on cpu", {
  create: () => createOnnxBackend({ device: "cpu", threads: 1 }),
  specs: {
    full: { source, trainable: { type: "full" } },
    lora: { source, trainable: { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } } },
  },
  tolerance: 1e-4,
});

describeCases(
  "the sampler of the embedded engine",
  samplerConformance(async () => {
    const backend = await createOnnxBackend({ device: "cpu", threads: 1, decodeBatchSize: 2 });
    const model = await backend.openModel({ source, trainable: { type: "frozen" } });
    const sampler = await model.snapshot();
    const close = async (): Promise<void> => {
      await sampler.close();
      await backend.close();
    };
    return {
      sampler: {
        specificationVersion: "v1",
        version: sampler.version,
        sample: (requests, options) => sampler.sample(requests, options),
        score: (request, options) => sampler.score!(request, options),
        close,
      },
      promptIds: [72, 105],
      stopTokenIds: model.renderer.stopTokenIds,
      vocabularySize: model.tokenizer.vocabularySize,
    };
  }),
);
