/*
 * DPO from a file of preferences. Each line is one object with a prompt, the chosen answer and the rejected answer. In
 * this file, the chosen answers are in lowercase and the rejected ones in capitals. A model from scratch learns this.
 *
 *   npm run example examples/training/dpo-preferences.ts [folder]
 */
import { mkdir, writeFile } from "node:fs/promises";
import { preferencesEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";

const output = process.argv[2] ?? "runs/dpo-preferences";
const words = ["apple", "river", "stone", "cloud", "tiger", "piano", "lemon", "grass"];

const path = `${output}/preferences.jsonl`;
const rows = words.map((word) => ({ prompt: `Write ${word}.`, chosen: word, rejected: word.toUpperCase() }));
await mkdir(output, { recursive: true });
await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const events = train({
  environment: preferencesEnvironment({ path }),
  backend,
  output,
  config: {
    algorithm: { id: "dpo", source: "demonstrations", beta: 0.1 },
    model: { scratch: { hiddenSize: 32, layers: 1, heads: 2, maxLength: 64 } },
    training: { steps: 20, batchSize: 8, learningRate: 3e-3 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
