import { median } from "../src/core/statistics.ts";
import type { Datum } from "../trainers/backend/datum.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark } from "./benchmark.ts";
import { model135m } from "./model-135m.ts";

const [sequences, promptTokens, sampledTokens] = [8, 256, 128];
const rounds = 3;

/**
 * Measures an update on a group whose sequences share their prompt, and on one of the same size whose prompts differ in
 * their first token, so that nothing is shared: LoRA with rank 16 on the 135M shape. The updates alternate because a
 * machine's speed drifts. The processor time of all threads is compared, which other work on the machine affects least.
 */
export const sharedPrefixes: Benchmark = {
  prefix: "shared-prefixes",
  run: async () => {
    await using backend = await createOnnxBackend({ device: "cpu" });
    const lora = { rank: 16, alpha: 32, seed: 1 };
    const model = await backend.openModel({ source: model135m, trainable: { type: "lora", lora } });
    const groups = { shared: groupOf({ samePrompt: true }), apart: groupOf({ samePrompt: false }) };
    const seconds = { shared: [] as number[], apart: [] as number[] };
    let stepId = 0;
    const update = async (data: readonly Datum[]): Promise<number> => {
      const before = process.cpuUsage();
      await model.forwardBackward(data, [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }]);
      stepId += 1;
      const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
      await model.optimStep(adam, { stepId });
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1e6;
    };
    for (let round = 0; round < rounds; round++) {
      for (const name of ["shared", "apart"] as const) {
        // The engine keeps one large graph, so the first update compiles it.
        await update(groups[name]);
        seconds[name].push(await update(groups[name]));
      }
    }
    const [shared, apart] = [median(seconds.shared), median(seconds.apart)];
    return [
      { name: "shared-prefixes/update-s", value: shared, unit: "s of processor time" },
      { name: "shared-prefixes/apart-update-s", value: apart, unit: "s of processor time" },
      { name: "shared-prefixes/update-ratio", value: apart / shared, unit: "ratio", baseline: 1.8 },
    ];
  },
};

/** A group with a loss on each sampled token. */
function groupOf({ samePrompt }: { readonly samePrompt: boolean }): Datum[] {
  const length = promptTokens + sampledTokens;
  return Array.from({ length: sequences }, (_, row) => {
    const ids = Int32Array.from({ length: length + 1 }, (_, i) => {
      return (i * 7919 + (i < promptTokens ? 0 : (row + 1) * 104_729)) % 49_152;
    });
    if (!samePrompt) ids[0] = row;
    return {
      tokens: ids.subarray(0, length),
      targets: ids.subarray(1),
      lossMask: new Float32Array(length).fill(1, promptTokens - 1),
      advantages: new Float32Array(length).fill((row % 2 === 0 ? 1 : -1) / length),
      behaviourLogprobs: new Float32Array(length).fill(-10.8),
    };
  });
}
