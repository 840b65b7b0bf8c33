import assert from "node:assert/strict";
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import type { ConformanceCase } from "../../src/core/conformance-case.ts";
import type { Algorithm, AlgorithmDefinition } from "../algorithms/index.ts";
import type { TrainingBackend } from "../backend/training-backend.ts";
import type { TrainingConfigInput } from "../config/training-config.ts";
import type { TrainOptions } from "../run/training-run.ts";
import { train } from "../training/train.ts";

/** An algorithm under test, and a small training in which it learns. */
export interface AlgorithmSubject {
  readonly algorithm: AlgorithmDefinition;
  /** Has the algorithm's id and an `evaluation`. */
  readonly config: TrainingConfigInput;
  readonly environment: () => EnvironmentDefinition;
  /** Opens a backend. The suite closes it. */
  readonly backend: () => TrainingBackend | Promise<TrainingBackend>;
  /** The mean reward of the evaluation must rise by more than this. */
  readonly margin: number;
  /** Returns the algorithm with one part broken, such as negated advantages. Its reward must rise by less than half. */
  readonly control?: (algorithm: Algorithm) => Algorithm;
  /** Receives the events of the training that must learn. */
  readonly onEvent?: (event: TrainingEvent) => void;
}

/**
 * The conformance suite of an algorithm: it learns, it does not learn with one part broken, and a resumed training ends
 * with the same weights. The last case needs a deterministic backend.
 *
 * @example
 * import { defineEnvironment } from "lyceum";
 * import { createOnnxBackend } from "lyceum/onnx";
 * import { grpo } from "lyceum/trainers";
 * import { algorithmConformance } from "lyceum/trainers/testing";
 * const cases = algorithmConformance({
 *   algorithm: grpo,
 *   config: {
 *     algorithm: { id: "grpo" },
 *     model: { scratch: { hiddenSize: 32, layers: 2 }, adapter: { type: "full" } },
 *     sampling: { maxTokens: 4 },
 *     evaluation: { split: "test", temperature: 1 },
 *     training: { steps: 15, batchSize: 4, learningRate: 0.01 },
 *   },
 *   environment: () =>
 *     defineEnvironment({
 *       id: "digits",
 *       tasks: (split) => [...Array(16).keys()].map((index) => `Write digits (${split} ${index}).`),
 *       reset: ({ task }) => task,
 *       step: ({ text }) => ({ reward: text.replace(/\D/g, "").length / 4 }),
 *     }),
 *   backend: () => createOnnxBackend(),
 *   margin: 0.2,
 * });
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function algorithmConformance(subject: AlgorithmSubject): ConformanceCase[] {
  const { algorithm, margin, control } = subject;
  const learns = async (): Promise<void> => {
    const gain = await rewardGain(subject, subject.onEvent);
    assert.ok(gain > margin, `The mean reward rises by ${gain}, not by more than ${margin}.`);
  };
  const cases = [
    { name: "learns", run: learns },
    { name: "ends with the same weights if it is resumed", run: () => resumes(subject) },
  ];
  if (control === undefined) return cases;
  const create = (settings: unknown) => control(algorithm.create(settings as never));
  const broken = { ...subject, algorithm: { ...algorithm, create } };
  const doesNotLearn = async (): Promise<void> => {
    const gain = await rewardGain(broken);
    assert.ok(gain < margin / 2, `The mean reward of the broken algorithm rises by ${gain}.`);
  };
  return [...cases, { name: "does not learn with one part broken", run: doesNotLearn }];
}

async function rewardGain(subject: AlgorithmSubject, onEvent?: (event: TrainingEvent) => void): Promise<number> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
  const rewards: number[] = [];
  for await (const event of training(subject, { output: folder.path })) {
    onEvent?.(event);
    if (event.type === "evaluation") rewards.push(event.metrics["reward/mean"]!);
  }
  assert.ok(rewards.length > 1, "The config has no evaluation.");
  return rewards.at(-1)! - rewards[0]!;
}

async function resumes(subject: AlgorithmSubject): Promise<void> {
  await using whole = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
  await using stopped = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
  const { evaluation: _, ...others } = subject.config;
  const config = { ...others, checkpoint: { every: 1 }, training: { ...others.training, steps: 3 } };
  const short = { ...subject, config };
  await Array.fromAsync(training(short, { output: whole.path }));
  const stop = new AbortController();
  for await (const event of training(short, { output: stopped.path, signal: stop.signal })) {
    if (event.type === "step" && event.step === 2) stop.abort();
  }
  await Array.fromAsync(training(short, { output: stopped.path, resume: true }));
  assert.deepEqual(await lastWeights(stopped.path), await lastWeights(whole.path));
}

async function* training(
  subject: AlgorithmSubject,
  options: Pick<TrainOptions, "output" | "signal" | "resume">,
): AsyncGenerator<TrainingEvent> {
  const { algorithm, config, environment, backend } = subject;
  await using opened = await backend();
  yield* train({ ...options, config, algorithms: [algorithm], environment: environment(), backend: opened });
}

/** Returns the contents of all files of the models in the third checkpoint, by their paths. */
async function lastWeights(output: string): Promise<Record<string, string>> {
  const folder = join(output, "checkpoints", "step-000003");
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "manifest.json") continue;
    const path = join(entry.parentPath, entry.name);
    files[relative(folder, path)] = await readFile(path, "base64");
  }
  assert.notDeepEqual(files, {});
  return files;
}
