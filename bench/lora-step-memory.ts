import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { timeLoraStep } from "./lora-step.ts";

// Run by itself in a process of its own, whose peak memory is then read.
await using backend = await createOnnxBackend({ device: "cpu" });
await timeLoraStep(backend, { sequences: 2, length: 256, runs: 2 });
