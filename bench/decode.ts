import type { SampleRequest } from "../src/policy/sampler.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { readCeiling } from "./machine-ceilings.ts";
import { cacheBytesPerToken, decodedWeightBytes, model135m } from "./model-135m.ts";

/** Decoding on the 135M shape: tokens a second at batch 1 and 16, around a context of 512 and of 1,536. */
export const decode: Benchmark = {
  prefix: "decode",
  run: async () => {
    const results: BenchmarkResult[] = [];
    await using backend = await createOnnxBackend({ device: "cpu" });
    const model = await backend.openModel({ source: model135m, trainable: { type: "frozen" } });
    const sampler = await model.snapshot();
    const rate = (batch: number, context: number): Promise<number> =>
      decodeRate({ batch, context, sample: (requests) => Array.fromAsync(sampler.sample(requests)) });
    for (const [context, baseline] of [
      [512, 6],
      [1536, 4.5],
    ] as const) {
      const one = await rate(1, context);
      const sixteen = await rate(16, context);
      results.push(
        { name: `decode/batch1-${context}`, value: one, unit: "tokens/s" },
        { name: `decode/batch16-${context}`, value: sixteen, unit: "tokens/s" },
        { name: `decode/batch16-over-batch1-${context}`, value: sixteen / one, unit: "ratio", baseline },
      );
      if (context !== 512) continue;
      const bytes = one * (decodedWeightBytes + context * cacheBytesPerToken);
      const ceiling = await readCeiling();
      results.push(
        { name: "decode/batch1-bandwidth", value: bytes / 1e9, unit: "GB/s" },
        { name: "decode/batch1-bandwidth-ratio", value: bytes / ceiling, unit: "ratio", baseline: 0.7 },
      );
    }
    return results;
  },
};

/**
 * Tokens a second of decoding alone: the difference between a long and a short completion of the same prompts, so
 * that reading the prompts is not counted. The context is `context` in the middle of what is timed.
 */
async function decodeRate(options: {
  readonly batch: number;
  readonly context: number;
  readonly sample: (requests: readonly SampleRequest[]) => Promise<unknown>;
}): Promise<number> {
  const { batch, context, sample } = options;
  const counted = 48;
  // One prompt for all rows is read once; each row then has a cache of its own, as always.
  const promptIds = Array.from({ length: context - counted / 2 }, (_, i) => (i * 31) % 49_152);
  const requests = (maxTokens: number): SampleRequest[] =>
    Array.from({ length: batch }, (_, row) => ({
      promptIds,
      settings: { temperature: 1, maxTokens },
      seed: row,
      stopTokenIds: [],
    }));
  const time = async (maxTokens: number): Promise<number> => {
    const start = performance.now();
    await sample(requests(maxTokens));
    return (performance.now() - start) / 1000;
  };
  await time(4);
  const [short, long] = [await time(2), await time(2 + counted)];
  return (batch * counted) / (long - short);
}
