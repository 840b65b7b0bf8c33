import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mean } from "../src/core/statistics.ts";
import { type CatalogueCase, catalogue } from "../test/trainers/catalogue.ts";
import { type AlgorithmDefinition, algorithms } from "../trainers/algorithms/index.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { train } from "../trainers/training/train.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const seeds = [1, 2, 3, 4, 5];
/** Student's t for five values, two-sided 95 %. */
const studentsT = 2.776;

/**
 * Checks that every algorithm learns: a small model from scratch on a small task, over five seeds. Reports the mean
 * reward on held-out tasks at the end (its baseline is the reward before training), the lower 95 % bound of the gain
 * (its baseline is the margin that it must exceed), and the upper bound of the gain of a control: the same algorithm
 * with one part broken.
 */
export const learning: readonly Benchmark[] = catalogue.map((entry) => {
  const name = `learning/${entry.form ?? entry.id}`;
  return { prefix: name, run: () => learn(entry, name) };
});

async function learn(entry: CatalogueCase, name: string): Promise<BenchmarkResult[]> {
  const definition = algorithms.get(entry.id);
  const spoiled = { ...definition, create: (settings: never) => entry.control(definition.create(settings)) };
  const started = performance.now();
  const runs = await overSeeds(entry, definition);
  const seconds = (performance.now() - started) / 1000 / seeds.length;
  const controls = await overSeeds(entry, spoiled);
  return [
    {
      name,
      value: mean(runs.map(({ after }) => after)),
      unit: "reward",
      baseline: mean(runs.map(({ before }) => before)),
    },
    { name: `${name}/gain-lower`, value: bounds(runs).lower, unit: "reward", baseline: entry.margin },
    { name: `${name}/control-upper`, value: bounds(controls).upper, unit: "reward", baseline: entry.margin },
    { name: `${name}/seconds`, value: seconds, unit: "s" },
  ];
}

interface Outcome {
  readonly before: number;
  readonly after: number;
}

async function overSeeds(entry: CatalogueCase, algorithm: AlgorithmDefinition): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const seed of seeds) outcomes.push(await outcome(entry, { algorithm, seed }));
  return outcomes;
}

async function outcome(
  { id, settings, environment, steps }: CatalogueCase,
  { algorithm, seed }: { readonly algorithm: AlgorithmDefinition; readonly seed: number },
): Promise<Outcome> {
  const output = await mkdtemp(join(tmpdir(), "lyceum-bench-learning-"));
  // A model this small gains nothing from more threads.
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  const rewards: number[] = [];
  try {
    const events = train({
      backend,
      output,
      environment: environment(),
      algorithms: [algorithm],
      config: {
        seed,
        algorithm: { id, ...settings },
        model: { scratch: { hiddenSize: 64, layers: 1, heads: 4, maxLength: 128 } },
        sampling: { maxTokens: 1 },
        training: { steps: 3 * steps, batchSize: 8, learningRate: 2e-3, sampleEvery: 0 },
        evaluation: { split: "test", temperature: 1, limit: 64, episodesPerTask: 4 },
        checkpoint: { every: 0 },
        export: { format: "none" },
      },
    });
    for await (const event of events) {
      if (event.type === "evaluation") rewards.push(event.metrics["reward/mean"]!);
    }
  } finally {
    await rm(output, { recursive: true, force: true });
  }
  return { before: rewards[0]!, after: rewards.at(-1)! };
}

function bounds(outcomes: readonly Outcome[]): { readonly lower: number; readonly upper: number } {
  const gains = outcomes.map(({ before, after }) => after - before);
  const centre = mean(gains);
  const variance = gains.reduce((sum, gain) => sum + (gain - centre) ** 2, 0) / (gains.length - 1);
  const half = studentsT * Math.sqrt(variance / gains.length);
  return { lower: centre - half, upper: centre + half };
}
