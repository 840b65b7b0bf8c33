/*
 * Trains one model on code, mathematics and tools in one run, with shares of two, one and one. Every step has tasks of
 * each environment, and metrics are reported per environment. The model and MBPP's problems are downloaded from the
 * Hugging Face hub unless they are in its cache.
 *
 *   npm run example examples/training/several-environments.ts [steps] [folder]
 */
import { mixedEnvironment } from "lyceum";
import { codeEnvironment, mathEnvironment, toolsEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const [steps = "40", output = "runs/several-environments"] = process.argv.slice(2);

const environment = mixedEnvironment([
  { environment: codeEnvironment({ dataset: "mbpp" }), weight: 2 },
  { environment: mathEnvironment({ difficulty: [1, 2] }) },
  { environment: toolsEnvironment({ tools: ["calculator"], maxTurns: 4 }) },
]);

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment,
  backend,
  output,
  config: {
    algorithm: { id: "ppo" },
    model: { path: "Qwen/Qwen2.5-Coder-0.5B-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    sampling: { temperature: 0.8, maxTokens: 192 },
    training: { steps: Number(steps), batchSize: 4, learningRate: 2e-5, maxTokensPerMicroBatch: 2048 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
