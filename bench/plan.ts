import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { median } from "../src/core/statistics.ts";
import { policySpec } from "../trainers/config/model-config.ts";
import { checkConfig } from "../trainers/config/training-config.ts";
import { readDecoderConfig } from "../trainers/model-folders/architecture/decoder-config.ts";
import { planEngine } from "../trainers/plan/engine-plan.ts";
import { exactly, type Interval } from "../trainers/plan/interval.ts";
import { combineRates, type MachineRates, measureMachine } from "../trainers/plan/measured-machine.ts";
import { modelSize } from "../trainers/plan/model-size.ts";
import type { Plan } from "../trainers/plan/plan.ts";
import { planWorkload } from "../trainers/plan/workload.ts";
import { createAlgorithm } from "../trainers/training/resolve-config.ts";
import { writeBase } from "./agent-memory.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { model135m } from "./model-135m.ts";
import { peakMemoryReport } from "./peak-memory.ts";
import { type PlanCase, planCases } from "./plan-cases.ts";

interface Compared {
  readonly set: PlanCase["set"];
  /** The name, such as memory. */
  readonly kind: string;
  readonly value: number;
  readonly planned: Interval;
}

const compared: Compared[] = [];

/**
 * Compares plans with real trainings of the embedded engine. `value` is what was measured, `planned` the interval of the
 * plan. The machine is measured between the steps, so that other programs slow both down. The first step, which compiles
 * graphs, does not count. At the end, `inside` is the share of figures within their interval, and `error` the median of
 * |middle / measured - 1|, over the trainings that ran.
 */
export const plan: readonly Benchmark[] = [
  ...planCases.map((one) => ({ prefix: `plan/${one.name}`, run: () => comparePlan(one) })),
  { prefix: "plan/of", run: async () => ["calibration", "check"].flatMap(summary) },
];

function summary(set: string): BenchmarkResult[] {
  const ofSet = compared.filter((one) => one.set === set);
  const kinds = ofSet.length === 0 ? [] : ["all", ...new Set(ofSet.map(({ kind }) => kind))];
  return kinds.flatMap((kind) => {
    const chosen = ofSet.filter((one) => kind === "all" || one.kind === kind);
    const inside = chosen.filter(({ value, planned }) => value >= planned.low && value <= planned.high);
    const errors = chosen.map(({ value, planned }) => Math.abs(planned.middle / value - 1));
    return [
      { name: `plan/of-${set}/inside/${kind}`, value: inside.length / chosen.length, unit: `of ${chosen.length}` },
      { name: `plan/of-${set}/error/${kind}`, value: median(errors), unit: "ratio" },
    ];
  });
}

let written: Promise<string> | undefined;

/** Returns a folder with the 135M model, which is written once. */
function base135m(): Promise<string> {
  written ??= (async () => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-plan-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    await writeBase(join(folder, "base"));
    return join(folder, "base");
  })();
  return written;
}

async function comparePlan(one: PlanCase): Promise<BenchmarkResult[]> {
  const { steps, rates, peakBytes } = await runTraining(one, one.base === "135m" ? await base135m() : "");
  const mean = (of: (metrics: Metrics) => number): number =>
    steps.reduce((sum, metrics) => sum + of(metrics), 0) / steps.length;
  const total = (name: string): number => mean((metrics) => metrics[name] ?? 0);
  const seconds = { rollout: total("time/rollout-ms") / 1000, update: total("time/update-ms") / 1000 };
  const planned = planCase(one, { rates, completion: total("length/completion-mean") });
  const result = (name: string, figure: string, value: number, unit: string, scale = 1): BenchmarkResult => {
    const { low, middle, high } = [...planned.memory, ...planned.speed].find((found) => found.name === figure)!;
    const range = { low: low / scale, middle: middle / scale, high: high / scale };
    compared.push({ set: one.set, kind: name, value, planned: range });
    return { name: `plan/${one.name}/${name}`, value, unit, planned: range };
  };
  const sampled = total("tokens/sampled");
  return [
    result("memory", "peak", peakBytes / 1e9, "GB", 1e9),
    ...(sampled === 0 ? [] : [result("sampling", "sampling", sampled / seconds.rollout, "tokens/s")]),
    result("training", "training", total("tokens/trained") / seconds.update, "tokens/s"),
    result("step", "one step", seconds.rollout + seconds.update, "s"),
  ];
}

/** Plans a case with the mean completion length that was measured, which a plan cannot know. */
function planCase(
  { config, base, agents, promptTokens }: PlanCase,
  { rates, completion }: { readonly rates: MachineRates; readonly completion: number },
): Plan {
  const checked = checkConfig(config);
  const { source } = policySpec(checked.model, { seed: 0 });
  const shape = readDecoderConfig(base === "135m" || source.type !== "scratch" ? model135m.config : source.config);
  const size = modelSize(shape, checked.model.adapter);
  const lengths = { prompt: exactly(promptTokens), completion: exactly(completion), turns: 1 };
  const algorithm = createAlgorithm(checked);
  const workload = planWorkload({ config: checked, algorithm, agents: agents.length, lengths });
  const { maxTokensPerMicroBatch = 2048 } = checked.training;
  return planEngine({ size, adapted: size, workload, maxTokensPerMicroBatch, rates, steps: 1 });
}

type Metrics = Readonly<Record<string, number>>;

/** Runs a training in its own process. Returns the metrics of its steps after the first, and its peak memory. */
async function runTraining(
  { name }: PlanCase,
  base: string,
): Promise<{ readonly steps: Metrics[]; readonly rates: MachineRates; readonly peakBytes: number }> {
  const module = new URL("./plan-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--import", peakMemoryReport, module, name, base], {
    stdio: ["pipe", "pipe", "inherit"],
    timeout: 900_000,
  });
  const closed = once(child, "close");
  const steps: Metrics[] = [];
  const rates: MachineRates[] = [];
  let peakBytes = Number.NaN;
  for await (const line of createInterface({ input: child.stdout })) {
    const peak = /^peak-rss (\d+)/.exec(line)?.[1];
    if (peak !== undefined) peakBytes = 1024 * Number(peak);
    if (!line.startsWith("{")) continue;
    steps.push(JSON.parse(line) as Metrics);
    rates.push(await measureMachine());
    child.stdin.write("\n");
  }
  const [code] = await closed;
  if (code !== 0 || !(peakBytes > 0)) throw new Error(`The training ${name} ended with ${code}.`);
  return { steps: steps.slice(1), rates: combineRates(rates), peakBytes };
}
