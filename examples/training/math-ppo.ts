/*
 * PPO on GSM8K's word problems with a small model. The critic is a separate model. The model and the problems are
 * downloaded from the Hugging Face hub unless they are in its cache.
 *
 *   npm run example examples/training/math-ppo.ts [steps] [folder]
 */

import { gsm8kEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const [steps = "40", output = "runs/math-ppo"] = process.argv.slice(2);

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment: gsm8kEnvironment({ formatReward: 0.2 }),
  backend,
  output,
  config: {
    algorithm: { id: "ppo", critic: "separate", criticLearningRateScale: 2, lambda: 0.98 },
    model: { path: "HuggingFaceTB/SmolLM2-135M-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    sampling: { temperature: 0.7, maxTokens: 192 },
    training: { steps: Number(steps), batchSize: 16, learningRate: 1e-4, maxTokensPerMicroBatch: 2048 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
