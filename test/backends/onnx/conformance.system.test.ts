import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { describeBackend } from "../../trainers/describe-backend.ts";
import { describeSampler } from "../../trainers/describe-sampler.ts";
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

describeSampler("the sampler of the embedded engine", async () => {
  const backend = await createOnnxBackend({ device: "cpu", threads: 1, decodeBatchSize: 2 });
  const model = await backend.openModel({ source, trainable: { type: "frozen" } });
  return { model, close: () => backend.close() };
});
