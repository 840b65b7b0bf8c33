/*
 * PPO on tool use: a small model learns to call a calculator and to answer with its result. The program generates the
 * tasks. The model is downloaded from the Hugging Face hub unless it is in its cache.
 *
 *   npm run example examples/training/tool-use-ppo.ts [steps] [folder]
 */

import { toolsEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const [steps = "40", output = "runs/tool-use-ppo"] = process.argv.slice(2);

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment: toolsEnvironment({ tools: ["calculator"], maxTurns: 3 }),
  backend,
  output,
  config: {
    algorithm: { id: "ppo", lambda: 0.95, entropyWeight: 0.001 },
    model: { path: "Qwen/Qwen2.5-0.5B-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    sampling: { maxTokens: 96 },
    training: { steps: Number(steps), batchSize: 4, learningRate: 2e-5, maxTokensPerMicroBatch: 2048 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
