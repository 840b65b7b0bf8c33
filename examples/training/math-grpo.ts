/*
 * GRPO on generated mathematics problems, from arithmetic to equations, with a small model. Each problem gets eight
 * answers, which are compared with each other. The model is downloaded from the Hugging Face hub unless it is in its
 * cache.
 *
 *   npm run example examples/training/math-grpo.ts [steps] [folder]
 */

import { mathEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const [steps = "40", output = "runs/math-grpo"] = process.argv.slice(2);

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment: mathEnvironment({ difficulty: [1, 2], formatReward: 0.2 }),
  backend,
  output,
  config: {
    algorithm: { id: "grpo", groupSize: 8, epochs: 2 },
    model: { path: "HuggingFaceTB/SmolLM2-135M-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    sampling: { temperature: 0.7, maxTokens: 128 },
    training: { steps: Number(steps), batchSize: 4, learningRate: 1e-4, maxTokensPerMicroBatch: 2048 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
