import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { timeLoraStep } from "./lora-step.ts";

// Runs in its own process, whose peak memory is measured.
await using backend = await createOnnxBackend({ device: "cpu" });
await timeLoraStep(backend, { sequences: 2, length: 256, runs: 2 });
