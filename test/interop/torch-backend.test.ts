import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";
import { describeBackend } from "../trainers/describe-backend.ts";
import { interopEnvironment, providePythonEnvironment, pythonOf } from "./python-environment.ts";

const python = pythonOf(await providePythonEnvironment(interopEnvironment));
const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;

describeBackend("the PyTorch backend on cpu", {
  create: () => createTorchBackend({ python, device: "cpu", threads: 1 }),
  specs: {
    full: { source, trainable: { type: "full" } },
    lora: { source, trainable: { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } } },
  },
});
