import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineEnvironment } from "../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../src/core/policy/scripted-policy.ts";
import { evaluate } from "../src/evaluation/evaluate.ts";
import { readEntries } from "../src/evaluation/log/read-log.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const episodes = 10_000;

/**
 * Measures the cost of an evaluation without its model: plan, rollout, log with index, and summary. The baselines are
 * the targets.
 */
export const evaluation: Benchmark = { prefix: "evaluate", run };

async function run(): Promise<BenchmarkResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-"));
  try {
    await play(join(folder, "warm-up"), 500);
    const { seconds, cpuSeconds, grownMb } = await play(join(folder, "run"), episodes);
    const started = performance.now();
    await readEntries(join(folder, "run"));
    const readMs = performance.now() - started;
    return [
      { name: "evaluate/10000-episodes", value: seconds, unit: "s", baseline: 10 },
      // The processor time, because other programs use the processor too.
      { name: "evaluate/10000-episodes-cpu", value: cpuSeconds, unit: "s" },
      { name: "evaluate/memory-growth", value: grownMb, unit: "MB" },
      { name: "evaluate/read-index", value: readMs, unit: "ms" },
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Plays a no-op policy. Measures how much larger the heap is in the last tenth than in the second tenth. */
async function play(
  folder: string,
  count: number,
): Promise<{ readonly seconds: number; readonly cpuSeconds: number; readonly grownMb: number }> {
  const environment = defineEnvironment({
    id: "no-op",
    tasks: Array.from({ length: count }, (_, n) => ({ n })),
    reset: () => "question",
    step: () => ({ reward: 1 }),
  });
  const policies = scriptedPolicy(["answer"]);
  const heap = collectedHeap();
  const started = performance.now();
  const processor = process.cpuUsage();
  let logged = 0;
  let early = 0;
  let late = 0;
  let measuring = 0;
  for await (const { type } of evaluate({ environment, policies, folder, split: "train" })) {
    if (type !== "episode") continue;
    logged += 1;
    if (logged !== Math.floor(0.2 * count) && logged !== Math.floor(0.95 * count)) continue;
    const before = performance.now();
    if (early === 0) early = heap();
    else late = heap();
    measuring += performance.now() - before;
  }
  const seconds = (performance.now() - started - measuring) / 1000;
  const { user, system } = process.cpuUsage(processor);
  return { seconds, cpuSeconds: (user + system) / 1e6, grownMb: (late - early) / 2 ** 20 };
}

/** Returns a function that measures the bytes of the heap after a garbage collection. */
function collectedHeap(): () => number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}
