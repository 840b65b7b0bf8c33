/*
 * A model learns to predict the environment as well as the expert's actions: with `observationWeight`, it also trains
 * on the environment's observations. Here a walker goes left or right on a line, and the environment says where it
 * arrives.
 *
 *   npm run example examples/training/sft-world-model.ts [folder]
 */
import { defineEnvironment } from "lyceum";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const output = process.argv[2] ?? "runs/sft-world-model";
const goal = 5;

const environment = defineEnvironment<number, { place: number }>({
  id: "walk",
  maxTurns: 9,
  tasks: [1, 2, 3, 4, 6, 7, 8, 9],
  reset: ({ task }) => ({ prompt: `at ${task}`, state: { place: task } }),
  step: ({ state, text }) => {
    state.place += text === "right" ? 1 : -1;
    return state.place === goal ? { reward: 1 } : { reply: `at ${state.place}` };
  },
  demonstrate: (task) => Array.from({ length: Math.abs(goal - task) }, () => (task < goal ? "right" : "left")),
});

await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const events = train({
  environment,
  backend,
  output,
  config: {
    algorithm: { id: "sft", actionWeight: 0.5, observationWeight: 0.5 },
    model: { scratch: { hiddenSize: 32, layers: 1, heads: 2, maxLength: 256 } },
    training: { steps: 40, batchSize: 8, learningRate: 5e-3 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
