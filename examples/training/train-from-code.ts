/*
 * Runs the training loop of `lyceum train` from a program, with a custom environment. A small model from scratch learns
 * to write four letters backwards: supervised fine-tuning first, then GRPO from the resulting weights.
 *
 *   npm run example examples/training/train-from-code.ts [folder]
 */
import { defineEnvironment } from "lyceum";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { contentHash } from "lyceum/tasksets";
import { type TrainingConfigInput, train } from "lyceum/trainers";

const output = process.argv[2] ?? "runs/backwards";
const letters = [..."abcd"];
const words = letters.flatMap((a) => letters.flatMap((b) => letters.flatMap((c) => letters.map((d) => a + b + c + d))));
const backwards = (word: string): string => [...word].reverse().join("");

const environment = defineEnvironment({
  id: "backwards",
  // A quarter of the words is held out, by hash. A model that is right on those has not just memorised a list.
  tasks: (split) => words.filter((word) => contentHash(word) < "4" === (split === "test")),
  reset: ({ task }) => task,
  step: ({ task, text }) => ({ reward: text === backwards(task) ? 1 : 0 }),
  demonstrate: backwards,
});

const shared = { seed: 1, sampling: { maxTokens: 6 }, evaluation: { split: "test" } } as const;
const stages: Record<string, TrainingConfigInput> = {
  sft: {
    ...shared,
    algorithm: { id: "sft" },
    model: { scratch: { hiddenSize: 64, layers: 2, heads: 4, maxLength: 32 } },
    training: { steps: 100, batchSize: 32, learningRate: 3e-3, warmupSteps: 10, schedule: "linear" },
  },
  grpo: {
    ...shared,
    algorithm: { id: "grpo", groupSize: 8 },
    model: { path: `${output}/sft/model` },
    training: { steps: 60, batchSize: 32, learningRate: 1e-3 },
  },
};

// A model this small gains nothing from more threads.
await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
for (const [name, config] of Object.entries(stages)) {
  const folder = `${output}/${name}`;
  const events = train({ config, environment, backend, output: folder });
  const color = process.stdout.hasColors?.() ?? false;
  await showTraining(recordRun(events, { folder }), { stream: process.stdout, color });
}
