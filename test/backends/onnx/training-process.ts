/**
 * A program for tests. Trains a full model, and an adapter with a value head, from step `first` to step `last`. Begins
 * from the states under `resumed` if given, and saves both states under `folder`. Prints a digest of states and
 * samples.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { TrainableSpec } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { tinyConfig } from "./tiny-config.ts";

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "1" },
    last: { type: "string", default: "1" },
    folder: { type: "string", default: "." },
    resumed: { type: "string" },
  },
});

/** Many tokens of few kinds, so that their gradients are added to few rows of the embedding. */
function dataOf(step: number): Datum[] {
  const random = createRandom(step);
  return Array.from({ length: 32 }, () => {
    const ids = Array.from({ length: random.integer(20, 60) }, () => random.integer(60, 63));
    const datum = datumFromIds({ ids, mask: ids.map(() => 1), logprobs: ids.map(() => -random.next()) });
    const numbers = (): Float32Array => datum.lossMask.map(() => random.normal());
    return { ...datum, advantages: numbers(), returns: numbers(), oldValues: numbers() };
  });
}

const kinds: Record<string, { readonly trainable: TrainableSpec; readonly valueHead: boolean }> = {
  full: { trainable: { type: "full" }, valueHead: false },
  lora: { trainable: { type: "lora", lora: { rank: 4, alpha: 8, seed: 2 } }, valueHead: true },
};
const config = { ...tinyConfig, hidden_size: 64, intermediate_size: 128 };
const digest = createHash("sha256");
await using backend = await createOnnxBackend({ device: "cpu", threads: 2 });
for (const [kind, spec] of Object.entries(kinds)) {
  const model = await backend.openModel({ source: { type: "scratch", config, seed: 3 }, ...spec });
  if (values.resumed !== undefined) await model.load(path.join(values.resumed, kind));
  for (let step = Number(values.first); step <= Number(values.last); step++) {
    const data = dataOf(step);
    await model.forwardBackward(data, [
      { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
      { type: "entropy", weight: 0.01 },
      ...(spec.valueHead ? [{ type: "value", clip: 0.2, weight: 0.1 } as const] : []),
    ]);
    await model.forwardBackward(data.slice(0, 7), [{ type: "crossEntropy", weight: 0.1 }]);
    const adam = { learningRate: 0.003, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 };
    await model.optimStep(adam, { stepId: step });
  }
  const folder = path.join(values.folder, kind);
  await model.save(folder);
  for (const file of ["state.json", "state.safetensors"]) digest.update(await readFile(path.join(folder, file)));
  const sampler = await model.snapshot();
  const requests = [1, 2, 3].map((seed) => ({
    promptIds: [60, 61],
    settings: { temperature: 1, maxTokens: 20 },
    seed,
    stopTokenIds: [],
  }));
  for await (const sample of sampler.sample(requests)) digest.update(JSON.stringify(sample));
}
console.log(digest.digest("hex"));
