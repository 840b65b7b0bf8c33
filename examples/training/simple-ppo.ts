/*
 * A minimal PPO run. The reward of a model from scratch is the share of digits in its text. A value head on the model
 * learns to predict it.
 *
 *   npm run example examples/training/simple-ppo.ts [folder]
 */
import { environmentFromReward } from "lyceum";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const output = process.argv[2] ?? "runs/simple-ppo";

const environment = environmentFromReward({
  id: "digits",
  tasks: ["Count."],
  prompt: (task) => task,
  reward: ({ text }) => (text.match(/\d/g)?.length ?? 0) / Math.max(text.length, 8),
});

await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const events = train({
  environment,
  backend,
  output,
  config: {
    algorithm: { id: "ppo", discount: 0.99, lambda: 0.95, epochs: 2, minibatches: 2, entropyWeight: 0.001 },
    model: { scratch: { hiddenSize: 32, layers: 1, heads: 2, maxLength: 64 } },
    sampling: { maxTokens: 8 },
    training: { steps: 30, batchSize: 32, learningRate: 3e-3 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
