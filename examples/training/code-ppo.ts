/*
 * PPO on code with a small model. The model writes JavaScript functions, never sees the hidden tests, and gets a second
 * attempt after it learns which visible test failed. The model and the problems are downloaded from the Hugging Face
 * hub unless they are in its cache.
 *
 *   npm run example examples/training/code-ppo.ts [steps] [folder]
 */

import { codeEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const [steps = "40", output = "runs/code-ppo"] = process.argv.slice(2);

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment: codeEnvironment({ dataset: "humaneval-js", maxTurns: 2, mode: "level_feedback" }),
  backend,
  output,
  config: {
    algorithm: { id: "ppo", lambda: 0.95, targetKl: 0.02 },
    model: { path: "Qwen/Qwen2.5-Coder-0.5B-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    tasks: { split: "test[32:]" },
    sampling: { temperature: 0.8, maxTokens: 256 },
    training: { steps: Number(steps), batchSize: 4, learningRate: 2e-5, maxTokensPerMicroBatch: 2048 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
