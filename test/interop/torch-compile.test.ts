import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { runPython } from "./python.ts";

const { environment } = inject("interop");

interface Sampled {
  readonly texts: readonly { readonly ids: readonly number[]; readonly logprobs: readonly number[] }[];
  /** The graphs that were compiled by the end of each call. */
  readonly graphs: readonly number[];
}

it("a compiled decoding step has the log-probabilities of the plain one, and few graphs serve all sizes", async () => {
  const request = {
    worker: join(import.meta.dirname, "..", "..", "trainers", "backends", "torch"),
    config: {
      model_type: "llama",
      vocab_size: 263,
      hidden_size: 64,
      intermediate_size: 128,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      max_position_embeddings: 256,
      initializer_range: 0.1,
    },
    calls: [
      [5, 20],
      [12, 90],
      [32, 150],
      [3, 30],
      [17, 100],
      [9, 200],
    ],
  };
  const sample = (compile: boolean): Promise<Sampled> =>
    runPython<Sampled>({
      environment,
      script: "compiled_step",
      request: { ...request, compile },
      timeoutMs: 1_800_000,
    });
  const plain = await sample(false);
  const compiled = await sample(true);
  expect(compiled.texts.map(({ ids }) => ids)).toEqual(plain.texts.map(({ ids }) => ids));
  const differences = compiled.texts.flatMap(({ logprobs }, i) =>
    logprobs.map((logprob, t) => Math.abs(logprob - plain.texts[i]!.logprobs[t]!)),
  );
  expect(Math.max(...differences)).toBeLessThan(1e-4);
  expect(compiled.graphs[0]).toBeGreaterThan(0);
  // One for a single row, and one each for fixed and free sizes of the batch and the cache. The rest is reused.
  expect(compiled.graphs[1]).toBeLessThanOrEqual(6);
  expect(compiled.graphs.slice(2).every((count) => count === compiled.graphs[1])).toBe(true);
}, 3_600_000);
