/**
 * A program for the soak test. It trains and samples tiny models with varying lengths, while models, adapters and
 * samplers are opened and closed. It sometimes prints a line of JSON with the memory of the process, and one at the
 * end. node --expose-gc engine-soak.ts <steps> <seed>
 */
import { createRandom } from "../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../trainers/backend/datum.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { Model, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";

const steps = Number(process.argv[2]);
const seed = Number(process.argv[3]);
const random = createRandom(seed);
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const ppo: LossTerm = { type: "ppo", clipLow: 0.2, clipHigh: 0.2 };
const maxLength = tinyConfig.max_position_embeddings;

function randomShape(): typeof tinyConfig {
  return { ...tinyConfig, num_hidden_layers: random.integer(1, 3), intermediate_size: 16 * random.integer(1, 5) };
}

/** Returns up to a dozen sequences of any length that the model supports. */
function randomData(): Datum[] {
  return Array.from({ length: random.integer(1, 12) }, () => {
    const ids = Array.from({ length: random.integer(2, maxLength) }, () => random.integer(0, 255));
    const datum = datumFromIds({ ids, mask: ids.map(() => 1), logprobs: ids.map(() => -5) });
    return { ...datum, advantages: datum.lossMask.map(() => random.normal()) };
  });
}

async function trainStep(model: Model, stepId: number): Promise<void> {
  const controller = new AbortController();
  const gaveUp = random.next() < 0.02;
  if (gaveUp) setTimeout(() => controller.abort(), 2);
  try {
    const terms = random.pick<LossTerm[]>([
      [{ type: "crossEntropy" }],
      [ppo],
      [ppo, { type: "entropy", weight: 0.01 }],
    ]);
    await model.forwardBackward(randomData(), terms, { signal: controller.signal });
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  }
  await model.optimStep(adam, { stepId });
}

/** Samples a batch, and stops some batches in the middle. */
async function sample(model: Model): Promise<number> {
  const sampler = await model.snapshot();
  const requests = Array.from({ length: random.integer(1, 20) }, (_, index) => {
    const length = random.integer(1, maxLength / 2);
    return {
      promptIds: Array.from({ length }, () => random.integer(0, 255)),
      settings: { temperature: 1, maxTokens: random.integer(1, maxLength - length), stop: ["zq"] },
      seed: index,
      stopTokenIds: [7],
    };
  });
  const enough = random.next() < 0.1 ? 1 : Infinity;
  let samples = 0;
  for await (const _ of sampler.sample(requests)) {
    samples += 1;
    if (samples >= enough) break;
  }
  await sampler.close();
  return samples;
}

/**
 * Opens a model with the same weights, other weights or another shape, uses it, and closes it. There are far more
 * shapes than cached graphs.
 */
async function passingModel(backend: TrainingBackend, index: number): Promise<number> {
  const lora: TrainableSpec = { type: "lora", lora: { rank: random.integer(1, 8), alpha: 8, seed: index } };
  const model = await backend.openModel({
    source: { type: "scratch", config: random.pick([tinyConfig, randomShape()]), seed: random.integer(0, 2) },
    trainable: random.pick<TrainableSpec>([lora, lora, { type: "full" }, { type: "frozen" }]),
  });
  if (model.spec.trainable.type === "frozen") await model.forward(randomData(), { outputs: ["logprobs", "entropy"] });
  else for (let step = 1; step <= 2; step++) await trainStep(model, step);
  const samples = await sample(model);
  await model.close();
  return samples;
}

// Its handle is created at its first use, which must not look like a leak.
void process.stdout;
const before = process.getActiveResourcesInfo().toSorted();
let samples = 0;
{
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 256 });
  const model = await backend.openModel({
    source: { type: "scratch", config: tinyConfig, seed: 1 },
    trainable: { type: "full" },
  });
  for (let step = 1; step <= steps; step++) {
    await trainStep(model, step);
    if (step % 3 === 0) samples += await sample(model);
    if (step % 5 === 0) samples += await passingModel(backend, step);
    if (step % 25 === 0) {
      globalThis.gc!();
      console.log(JSON.stringify({ step, ...process.memoryUsage() }));
    }
  }
}
console.log(JSON.stringify({ before, after: process.getActiveResourcesInfo().toSorted(), samples }));
