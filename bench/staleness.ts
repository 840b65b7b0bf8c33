import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { mean } from "../src/core/statistics.ts";
import { letterEnvironment } from "../test/trainers/letter-environment.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { train } from "../trainers/training/train.ts";
import type { Benchmark } from "./benchmark.ts";

const seeds = [1, 2, 3];
const steps = 90;
const judgeMs = 40;

interface Outcome {
  /** The mean reward on held-out tasks at the end. */
  readonly reward: number;
  /** Milliseconds of the steps after the first, which compiles the graphs. */
  readonly msPerStep: number;
}

/**
 * Measures what sampling ahead (`rollout.maxStaleness: 1`) saves and costs. The baseline of each figure is the
 * synchronous run. GRPO trains on a small task over three seeds. The figures are the milliseconds per step and the
 * held-out reward at the end, with a judge that takes 40 ms per answer, and without any waiting.
 */
export const staleness: Benchmark = {
  prefix: "staleness",
  run: async () => {
    const found: Record<"judged" | "unjudged", Record<"synchronous" | "ahead", Outcome[]>> = {
      judged: { synchronous: [], ahead: [] },
      unjudged: { synchronous: [], ahead: [] },
    };
    for (const seed of seeds) {
      for (const [kind, waitMs] of [
        ["judged", judgeMs],
        ["unjudged", 0],
      ] as const) {
        found[kind].synchronous.push(await play({ seed, waitMs, maxStaleness: 0 }));
        found[kind].ahead.push(await play({ seed, waitMs, maxStaleness: 1 }));
      }
    }
    return (["judged", "unjudged"] as const).flatMap((kind) => {
      const { synchronous, ahead } = found[kind];
      const figure = (name: string, unit: string, read: (outcome: Outcome) => number) => ({
        name: `staleness/${kind}-${name}`,
        value: mean(ahead.map(read)),
        unit,
        baseline: mean(synchronous.map(read)),
      });
      return [
        figure("step-ms", "ms", ({ msPerStep }) => msPerStep),
        figure("reward", "reward", ({ reward }) => reward),
      ];
    });
  },
};

async function play(options: {
  readonly seed: number;
  readonly waitMs: number;
  readonly maxStaleness: number;
}): Promise<Outcome> {
  const { seed, waitMs, maxStaleness } = options;
  const output = await mkdtemp(join(tmpdir(), "lyceum-bench-staleness-"));
  // A model this small gains nothing from more threads.
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  const judge = async (right: boolean): Promise<number> => {
    if (waitMs > 0) await setTimeout(waitMs);
    return Number(right);
  };
  let reward = 0;
  const elapsed: number[] = [];
  try {
    const events = train({
      backend,
      output,
      environment: letterEnvironment({ judge }) as EnvironmentDefinition,
      config: {
        seed,
        algorithm: { id: "grpo" },
        model: { scratch: { hiddenSize: 64, layers: 1, heads: 4, maxLength: 128 } },
        sampling: { maxTokens: 1 },
        rollout: { maxStaleness },
        training: { steps, batchSize: 8, learningRate: 3e-3, sampleEvery: 0 },
        evaluation: { split: "test", temperature: 1, limit: 64, episodesPerTask: 4 },
        checkpoint: { every: 0 },
        export: { format: "none" },
      },
    });
    for await (const event of events) {
      if (event.type === "evaluation") reward = event.metrics["reward/mean"]!;
      if (event.type === "step") elapsed.push(event.elapsedMs);
    }
  } finally {
    await rm(output, { recursive: true, force: true });
  }
  return { reward, msPerStep: (elapsed.at(-1)! - elapsed[0]!) / (elapsed.length - 1) };
}
