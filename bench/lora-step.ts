import type { Datum } from "../trainers/backend/datum.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { fastest, productCeiling } from "./machine-ceilings.ts";
import { loraStepFlops, model135m } from "./model-135m.ts";
import { peakMemory } from "./peak-memory.ts";

const rank = 16;
const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };

/** Measures a LoRA step of the 135M shape: its speed relative to the machine's matrix products, and its memory. */
export const loraStep: Benchmark = {
  prefix: "lora-step",
  run: async () => {
    const [sequences, length] = [4, 256];
    const step = await measureStep(sequences, length);
    const results: BenchmarkResult[] = [
      { name: "lora-step/tokens-per-second", value: (sequences * length) / step.seconds, unit: "tokens/s" },
      {
        name: "lora-step/ceiling-ratio",
        value: loraStepFlops({ sequences, length, rank }) / step.seconds / step.ceiling,
        unit: "ratio",
        baseline: 0.75,
      },
    ];
    const bytes = await peakMemory(new URL("./lora-step-memory.ts", import.meta.url));
    results.push({ name: "lora-step/peak-rss-gb", value: bytes / 1e9, unit: "GB", baseline: 2.5 });
    return results;
  },
};

async function measureStep(sequences: number, length: number): Promise<{ seconds: number; ceiling: number }> {
  await using backend = await createOnnxBackend({ device: "cpu" });
  const before = await productCeiling();
  const seconds = await timeLoraStep(backend, { sequences, length, runs: 4 });
  return { seconds, ceiling: Math.max(before, await productCeiling()) };
}

/** Measures the seconds of one forward, backward and optimizer step. */
export async function timeLoraStep(
  backend: Awaited<ReturnType<typeof createOnnxBackend>>,
  options: { readonly sequences: number; readonly length: number; readonly runs: number },
): Promise<number> {
  const { sequences, length, runs } = options;
  const lora = { rank, alpha: 32, seed: 1 };
  const model = await backend.openModel({ source: model135m, trainable: { type: "lora", lora } });
  const data = Array.from({ length: sequences }, (_, row) => syntheticDatum(length, row));
  let stepId = 0;
  return fastest(runs, async () => {
    await model.forwardBackward(data, [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }]);
    stepId += 1;
    await model.optimStep(adam, { stepId });
  });
}

/** A datum with a loss on every token, so that the step includes all work. */
export function syntheticDatum(length: number, row: number): Datum {
  const ids = Int32Array.from({ length: length + 1 }, (_, i) => (i * 7919 + row * 104_729) % 49_152);
  return {
    tokens: ids.subarray(0, length),
    targets: ids.subarray(1),
    lossMask: new Float32Array(length).fill(1),
    advantages: new Float32Array(length).fill(row % 2 === 0 ? 1 / length : -1 / length),
    behaviourLogprobs: new Float32Array(length).fill(-10.8),
  };
}
