import type { SampleRequest } from "../src/contract/sampler.ts";
import { median } from "../src/core/statistics.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { productCeiling, readCeiling } from "./machine-ceilings.ts";
import { cacheBytesPerToken, decodedWeightBytes, model135m } from "./model-135m.ts";

/** The rates of one round, measured in sequence. */
interface Round {
  readonly one: number;
  readonly bytes: number;
  readonly bandwidthRatio: number;
  readonly sixteen: number;
  /** The share of the time of sixteen rows that the machine needs to read weights and caches and then to compute. */
  readonly sixteenBoundRatio: number;
  readonly ratio: number;
  readonly groupRatio: number;
}

/**
 * Measures decoding on the 135M shape, in tokens per second: one sequence, sixteen sequences with different prompts,
 * and a group of sixteen that continue one prompt, at contexts around 512 and 1,536 tokens.
 */
export const decode: Benchmark = {
  prefix: "decode",
  run: async () => {
    await using backend = await createOnnxBackend({ device: "cpu" });
    const model = await backend.openModel({ source: model135m, trainable: { type: "frozen" } });
    const sampler = await model.snapshot();
    const rate = (rows: number, prompts: number, context: number): Promise<number> =>
      decodeRate({ rows, prompts, context, sample: (requests) => sampler.sample(requests) });
    // The first decoding of each form compiles the graph of that form.
    for (const [rows, prompts] of [
      [1, 1],
      [16, 16],
      [16, 1],
    ] as const) {
      await rate(rows, prompts, 64);
    }
    const results: BenchmarkResult[] = [];
    for (const [context, baseline] of [
      [512, 6],
      [1536, 4.5],
    ] as const) {
      // A machine's speed drifts. Therefore ratios compare neighbouring measurements, and the median of several rounds
      // counts.
      const rounds: Round[] = [];
      for (let round = 0; round < 3; round++) {
        const one = await rate(1, 1, context);
        const bytes = one * (decodedWeightBytes + context * cacheBytesPerToken);
        const ceiling = await readCeiling();
        const bandwidthRatio = bytes / ceiling;
        const sixteen = await rate(16, 16, context);
        const group = await rate(16, 1, context);
        const read = (decodedWeightBytes + 16 * context * cacheBytesPerToken) / ceiling;
        // Two operations for each weight, which has four bytes. Attention computes little.
        const computed = (16 * decodedWeightBytes) / 2 / (await productCeiling());
        const sixteenBoundRatio = (read + computed) / (16 / sixteen);
        rounds.push({
          ...{ one, bytes, bandwidthRatio, sixteen, sixteenBoundRatio },
          ...{ ratio: sixteen / one, groupRatio: group / one },
        });
      }
      const middle = (name: keyof Round): number => median(rounds.map((round) => round[name]));
      results.push(
        { name: `decode/batch1-${context}`, value: middle("one"), unit: "tokens/s" },
        { name: `decode/batch16-${context}`, value: middle("sixteen"), unit: "tokens/s" },
        { name: `decode/batch16-bound-ratio-${context}`, value: middle("sixteenBoundRatio"), unit: "ratio" },
        { name: `decode/batch16-over-batch1-${context}`, value: middle("ratio"), unit: "ratio", baseline },
        { name: `decode/group16-over-batch1-${context}`, value: middle("groupRatio"), unit: "ratio", baseline },
      );
      if (context !== 512) continue;
      results.push(
        { name: "decode/batch1-bandwidth", value: middle("bytes") / 1e9, unit: "GB/s" },
        { name: "decode/batch1-bandwidth-ratio", value: middle("bandwidthRatio"), unit: "ratio", baseline: 0.7 },
      );
    }
    return results;
  },
};

/**
 * Measures the tokens per second of decoding alone. The time starts when an extra row with a prompt of one token ends,
 * and stops when all other rows end. `context` is the context length in the middle of the timed part.
 */
async function decodeRate(options: {
  readonly rows: number;
  /** The number of different prompts among the rows. */
  readonly prompts: number;
  readonly context: number;
  readonly sample: (requests: readonly SampleRequest[]) => AsyncIterable<unknown>;
}): Promise<number> {
  const { rows, prompts, context, sample } = options;
  const [before, counted] = [3, 64];
  const request = (promptIds: readonly number[], maxTokens: number, seed: number): SampleRequest => ({
    promptIds,
    settings: { temperature: 1, maxTokens },
    seed,
    stopTokenIds: [],
  });
  const requests = Array.from({ length: rows }, (_, row) => {
    const length = context - before - counted / 2;
    const promptIds = Array.from({ length }, (_, i) => ((row % prompts) * 1009 + i * 31) % 49_152);
    return request(promptIds, before + counted, row);
  });
  let start: number | undefined;
  for await (const _ of sample([...requests, request([1], before, rows)])) start ??= performance.now();
  return (1000 * rows * counted) / (performance.now() - start!);
}
