import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { adapterBytes, model135m } from "./model-135m.ts";
import { peakMemory } from "./peak-memory.ts";

const rank = 16;

/**
 * Measures the peak memory of a process in which n agents play and learn. Each agent has an adapter of rank 16 over one
 * shared base model of the 135M shape. The peak of one agent contains the base, as stored and as laid out for decoding,
 * and the activations of a step. Each further agent may add four times its adapter: weights, gradient and two moments.
 */
export const agentMemory: Benchmark = {
  prefix: "agent-memory",
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-agents-"));
    try {
      const base = join(folder, "base");
      await writeBase(base);
      const peaks = new Map<number, number>();
      for (const agents of [1, 2, 4, 8]) {
        peaks.set(agents, await peakMemory(new URL("./agent-memory-process.ts", import.meta.url), [`${agents}`, base]));
      }
      const one = peaks.get(1)!;
      const each = 4 * adapterBytes(rank);
      const results: BenchmarkResult[] = [
        { name: "agent-memory/adapter-mb", value: adapterBytes(rank) / 1e6, unit: "MB" },
        { name: "agent-memory/peak-rss-gb-1", value: one / 1e9, unit: "GB" },
      ];
      for (const agents of [2, 4, 8]) {
        const baseline = (one + (agents - 1) * each) / 1e9;
        const value = peaks.get(agents)! / 1e9;
        results.push({ name: `agent-memory/peak-rss-gb-${agents}`, value, unit: "GB", baseline });
      }
      const perAgent = (peaks.get(8)! - one) / 7e6;
      results.push({ name: "agent-memory/per-agent-mb", value: perAgent, unit: "MB", baseline: each / 1e6 });
      return results;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Writes the base to disk once, so that no process has to generate its random weights. */
export async function writeBase(folder: string): Promise<void> {
  await using backend = await createOnnxBackend({ device: "cpu" });
  const model = await backend.openModel({ source: model135m, trainable: { type: "full" } });
  await model.export(folder, "huggingface");
}
