/*
 * Two stages: a model from scratch imitates an expert, then PPO continues from the resulting weights.
 *
 *   npm run example examples/training/sft-then-ppo.ts [folder]
 */

import { mathEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { type TrainingConfigInput, train } from "lyceum/trainers";

const output = process.argv[2] ?? "runs/sft-then-ppo";
// The answer to 3+4= is 7.
const environment = mathEnvironment({ tasks: "arithmetic", operations: ["addition"], digits: 1, answerOnly: true });

const shared = { seed: 1, sampling: { maxTokens: 4 }, evaluation: { split: "test", limit: 100 } } as const;
const stages: Record<string, TrainingConfigInput> = {
  sft: {
    ...shared,
    algorithm: { id: "sft" },
    model: { scratch: { hiddenSize: 64, layers: 1, heads: 4, maxLength: 32 } },
    training: { steps: 60, batchSize: 32, learningRate: 3e-3, warmupSteps: 10 },
  },
  ppo: {
    ...shared,
    algorithm: { id: "ppo" },
    model: { path: `${output}/sft/model` },
    training: { steps: 15, batchSize: 64, learningRate: 3e-4 },
  },
};

const color = process.stdout.hasColors?.() ?? false;
await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
for (const [name, config] of Object.entries(stages)) {
  const folder = `${output}/${name}`;
  const events = train({ config, environment, backend, output: folder });
  await showTraining(recordRun(events, { folder }), { stream: process.stdout, color });
}
