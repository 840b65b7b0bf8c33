/*
 * Trains two agents with MAGRPO to summarise posts together, from a data set, a prompt for each agent and a reward
 * function. The second agent should write three times as much as the first. The model and the posts are downloaded from
 * the Hugging Face hub unless they are in its cache.
 *
 *   npm run example examples/training/two-writers.ts [steps] [folder]
 */
import { environmentFromReward, loadTaskset } from "lyceum";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";
import { z } from "zod";

const [steps = "128", output = "runs/two-writers"] = process.argv.slice(2);

const posts = { source: "trl-lib/tldr", split: "train[:128]", schema: z.object({ prompt: z.string() }) };
const environment = environmentFromReward({
  id: "two-writers",
  tasks: await loadTaskset(posts),
  prompts: {
    short: ({ prompt }) => `${prompt}\n\nSummarise this in a sentence.`,
    long: ({ prompt }) => `${prompt}\n\nSummarise this in three sentences.`,
  },
  reward: ({ texts }) => -Math.abs(Math.max(texts.long.length, 1) / Math.max(texts.short.length, 1) - 3),
});

await using backend = await createOnnxBackend({ device: "auto" });
const events = train({
  environment,
  backend,
  output,
  config: {
    algorithm: { id: "magrpo", groupSize: 4 },
    // An adapter for each agent, over one base model.
    model: { path: "Qwen/Qwen2.5-0.5B-Instruct", adapter: { type: "lora", rank: 16, alpha: 32 } },
    sampling: { temperature: 0.7, maxTokens: 256 },
    training: { steps: Number(steps), batchSize: 1, learningRate: 2e-5 },
  },
});
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
