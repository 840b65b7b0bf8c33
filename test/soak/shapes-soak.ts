/**
 * A program for tests of memory. It trains an adapter in passes whose shapes differ, and prints a line of JSON with the
 * resident memory after each. The first passes have the largest shapes. node --expose-gc shapes-soak.ts <passes>
 */
import { createRandom } from "../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../trainers/backend/datum.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";

const passes = Number(process.argv[2]);
const random = createRandom(1);
const vocabulary = 4096;

/** Large enough that activations are most of the memory. */
const config = {
  model_type: "llama",
  vocab_size: vocabulary,
  hidden_size: 256,
  intermediate_size: 768,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  tie_word_embeddings: true,
  initializer_range: 0.05,
};

/** Sequences of up to `length` tokens. Some were sampled from a part of the vocabulary if `truncated`. */
function sequences(count: number, length: number, { truncated = false, exact = false } = {}): Datum[] {
  return Array.from({ length: count }, () => {
    const ids = Array.from({ length: exact ? length : random.integer(2, length) }, () =>
      random.integer(0, vocabulary - 1),
    );
    const datum = datumFromIds({ ids, mask: ids.map(() => 1), logprobs: ids.map(() => -8) });
    const advantages = datum.lossMask.map(() => random.normal());
    if (!truncated || random.next() < 0.5) return { ...datum, advantages };
    return { ...datum, advantages, supports: [...datum.targets].map((target) => [target]) };
  });
}

/** Every kind of graph once, then any. */
function dataOf(pass: number): Datum[] {
  if (pass === 0) return sequences(4, 500, { exact: true });
  if (pass === 1) return sequences(16, 120, { exact: true });
  if (pass === 2) return sequences(8, 250, { truncated: true });
  if (pass === 3) return sequences(2, 100, { exact: true });
  if (pass === 4) return sequences(3, 300, { exact: true });
  return sequences(random.integer(1, 16), random.integer(2, 500), { truncated: random.next() < 0.2 });
}

await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const model = await backend.openModel({
  source: { type: "scratch", config, seed: 1 },
  trainable: { type: "lora", lora: { rank: 8 } },
});
for (let pass = 0; pass < passes; pass++) {
  await model.forwardBackward(dataOf(pass), [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }]);
  await model.optimStep(
    { learningRate: 1e-4, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 },
    { stepId: pass + 1 },
  );
  globalThis.gc!();
  console.log(JSON.stringify({ pass, rss: process.memoryUsage.rss() }));
}
console.log(JSON.stringify({ passes }));
