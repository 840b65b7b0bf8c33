import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EnvironmentDefinition } from "lyceum";
import { defineParallelEnvironment } from "lyceum";
import { mathEnvironment, numberGuessingEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import type { TrainingEvent } from "lyceum/reports";
import { watchHealth } from "lyceum/reports";
import { type TrainingConfigInput, train } from "lyceum/trainers";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

/**
 * One row of the table of results: a task, how a new model is prepared for it, and the algorithm that then trains it.
 */
interface Row {
  readonly task: string;
  readonly algorithm: { readonly id: string; readonly [setting: string]: unknown };
}

/** A task that a small byte-level model can learn in a minute or two. */
interface Task {
  readonly environment: () => EnvironmentDefinition;
  readonly maxLength: number;
  readonly maxTokens: number;
  /** Number of imitation steps before the algorithm. */
  readonly imitation: number;
  readonly imitationBatch: number;
  readonly training: NonNullable<TrainingConfigInput["training"]>;
  readonly heldOut: string;
  /** The metric of the evaluations that is reported. */
  readonly score: "accuracy" | "reward/mean";
}

const tasks: Readonly<Record<string, Task>> = {
  arithmetic: {
    environment: () => mathEnvironment({ tasks: "arithmetic", operations: ["addition"], digits: 2, answerOnly: true }),
    maxLength: 32,
    maxTokens: 6,
    imitation: 150,
    imitationBatch: 128,
    training: { steps: 100, batchSize: 48, learningRate: 4e-4, schedule: "linear", beta2: 0.99 },
    heldOut: "test[:300]",
    score: "accuracy",
  },
  "shared-addition": {
    environment: sharedAddition as () => EnvironmentDefinition,
    maxLength: 32,
    maxTokens: 4,
    imitation: 90,
    imitationBatch: 128,
    training: { steps: 100, batchSize: 32, learningRate: 2e-4, schedule: "linear", beta2: 0.99 },
    heldOut: "test[:300]",
    score: "reward/mean",
  },
  "number-guessing": {
    environment: () => numberGuessingEnvironment({ maximum: 30, spareGuesses: 2 }) as EnvironmentDefinition,
    maxLength: 512,
    maxTokens: 4,
    imitation: 24,
    imitationBatch: 12,
    training: { steps: 40, batchSize: 8, learningRate: 4e-4, schedule: "linear", beta2: 0.99 },
    heldOut: "test",
    score: "reward/mean",
  },
};

const rows: readonly Row[] = [
  { task: "arithmetic", algorithm: { id: "sft" } },
  { task: "arithmetic", algorithm: { id: "reinforce", groupSize: 8, whiten: true } },
  { task: "arithmetic", algorithm: { id: "rloo", groupSize: 8 } },
  { task: "arithmetic", algorithm: { id: "grpo", groupSize: 8, minibatches: 2 } },
  { task: "arithmetic", algorithm: { id: "ppo", groupSize: 8 } },
  { task: "arithmetic", algorithm: { id: "dpo", groupSize: 8 } },
  { task: "shared-addition", algorithm: { id: "mareinforce", groupSize: 8, whiten: true } },
  { task: "shared-addition", algorithm: { id: "magrpo", groupSize: 8, whiten: true } },
  { task: "number-guessing", algorithm: { id: "grpo", groupSize: 8 } },
];

/**
 * Measures what algorithms achieve on small tasks with the embedded engine. Each run starts from random weights, first
 * imitates a part of the task, then runs the algorithm. Reports the score on held-out tasks (its baseline is the score
 * before the algorithm), the total seconds, and the health warnings.
 */
export const catalogueResults: readonly Benchmark[] = rows.map((row) => {
  const name = `catalogue/${row.task}-${row.algorithm.id}`;
  return { prefix: name, run: () => results(row, name) };
});

type Warning = Extract<TrainingEvent, { type: "warning" }>;

async function results({ task, algorithm }: Row, name: string): Promise<BenchmarkResult[]> {
  const described = tasks[task]!;
  const start = await imitated(task);
  const run =
    algorithm.id === "sft"
      ? { ...start, seconds: 0 }
      : await trained(described, {
          ...common(described),
          algorithm,
          model: { path: start.model },
          training: described.training,
        });
  for (const { step, message } of run.warnings) console.error(`${name}, step ${step}: ${message}`);
  const { scores, warnings } = run;
  const unit = described.score === "accuracy" ? "share" : "reward";
  return [
    { name, value: scores.at(-1)!, unit, baseline: scores[0]! },
    { name: `${name}/seconds`, value: start.seconds + run.seconds, unit: "s" },
    { name: `${name}/warnings`, value: warnings.length, unit: "" },
  ];
}

interface Outcome {
  /** Before and after the algorithm. */
  readonly scores: readonly number[];
  readonly warnings: readonly Warning[];
  readonly seconds: number;
  /** The folder of the trained model. */
  readonly model: string;
}

const starts = new Map<string, Promise<Outcome>>();
/** The folder of all runs, kept until the process ends, because later runs start from models of earlier ones. */
let folder: Promise<string> | undefined;

async function makeFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "lyceum-bench-catalogue-"));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** The model from which every algorithm of a task starts. It is created once. */
function imitated(name: string): Promise<Outcome> {
  const task = tasks[name]!;
  const start =
    starts.get(name) ??
    trained(task, {
      ...common(task),
      algorithm: { id: "sft" },
      model: {
        scratch: {
          hiddenSize: 128,
          layers: 3,
          heads: 8,
          intermediateSize: 384,
          maxLength: task.maxLength,
          ropeTheta: 50,
          tieEmbeddings: false,
          initializerRange: 0.08,
        },
      },
      training: {
        steps: task.imitation,
        batchSize: task.imitationBatch,
        learningRate: 3e-3,
        warmupSteps: 20,
        beta2: 0.99,
      },
    });
  starts.set(name, start);
  return start;
}

function common({ maxTokens, heldOut }: Task) {
  return {
    seed: 1,
    sampling: { maxTokens },
    agents: { weights: "shared" },
    evaluation: { split: heldOut, limit: 300 },
    checkpoint: { every: 0 },
  } as const;
}

async function trained({ environment, score }: Task, config: TrainingConfigInput): Promise<Outcome> {
  folder ??= makeFolder();
  const output = await mkdtemp(join(await folder, "run-"));
  const scores: number[] = [];
  const warnings: Warning[] = [];
  const started = performance.now();
  await using backend = await createOnnxBackend({ device: "cpu", decodeBatchSize: 512, maxTokensPerMicroBatch: 8192 });
  for await (const event of watchHealth(train({ config, environment: environment(), backend, output }))) {
    if (event.type === "evaluation") scores.push(event.metrics[score]!);
    if (event.type === "warning") warnings.push(event);
  }
  return { scores, warnings, seconds: (performance.now() - started) / 1000, model: join(output, "model") };
}

interface Sum {
  readonly a: number;
  readonly b: number;
}

/**
 * Two agents add two numbers together. At the same time, `tens` says how many tens the sum has and `ones` says its last
 * digit. Both get reward 1 if both are right, otherwise 0.
 */
function sharedAddition(): EnvironmentDefinition<Sum> {
  const numbers = Array.from({ length: 90 }, (_, i) => i + 10);
  const sums = numbers.flatMap((a) => numbers.map((b) => ({ a, b })));
  const partsOf = ({ a, b }: Sum) => ({ tens: String(Math.floor((a + b) / 10)), ones: String((a + b) % 10) });
  return defineParallelEnvironment<"tens" | "ones", Sum>({
    id: "shared-addition",
    agents: ["tens", "ones"],
    rewardRange: [0, 1],
    // The modulus is a prime that does not divide ten, so both splits contain every pair of last digits.
    tasks: (split) => sums.filter(({ a, b }) => (37 * a + 59 * b) % 101 < 10 === (split === "test")),
    reset: ({ task: { a, b } }) => ({ tens: `${a}+${b}>`, ones: `${a}+${b}<` }),
    step: ({ task, texts }) => {
      const parts = partsOf(task);
      return { reward: texts.tens === parts.tens && texts.ones === parts.ones ? 1 : 0 };
    },
    demonstrate: (task) => [partsOf(task)],
  });
}
