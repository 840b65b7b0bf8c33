import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { type LyceumResult, lyceum } from "../cli/run-lyceum.ts";
import { tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logitTolerance } from "./compare.ts";
import { forwardReference } from "./reference.ts";
import { randomIds } from "./sequences.ts";

const { checkpoints } = inject("interop");
const environment = ["--set", "tasks=arithmetic", "--set", "digits=1", "--set", "answerOnly=true"];

const config = (checkpoint: string): string => `seed: 1
environment: { id: math, tasks: arithmetic, digits: 1, answerOnly: true }
algorithm: { id: sft }
model: { path: ${JSON.stringify(checkpoint)}, adapter: { type: lora, rank: 4, alpha: 8 } }
training: { steps: 3, batchSize: 4, learningRate: 1e-2 }
`;

let backend: TrainingBackend;

beforeAll(async () => {
  backend = await createOnnxBackend({ device: "cpu" });
  return () => backend.close();
});

describe.each(["gpt2", "starcoder2-window"])("%s, as written by transformers", (name) => {
  const checkpoint = join(checkpoints, name);
  const [ids] = randomIds({ lengths: [60], vocabularySize: tinyVocabularySize, seed: 31 }) as [number[]];
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lyceum-family-"));
    await writeFile(join(folder, "train.yaml"), config(checkpoint));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function run(...args: readonly string[]): Promise<LyceumResult> {
    const result = await lyceum(args, { folder });
    expect(result.code, result.stderr).toBe(0);
    return result;
  }

  async function logitsOf(path: string): Promise<Float32Array> {
    const model = await backend.openModel({ source: { type: "pretrained", path }, trainable: { type: "frozen" } });
    const logits = await readLogits(model, ids);
    await model.close();
    return logits;
  }

  test("trains an adapter that is evaluated, exported, and loaded by transformers and peft", async () => {
    await run("train", "--config", "train.yaml", "--output", "run");
    const few = ["--split", "test[:3]", "--max-tokens", "4", "--seed", "1"];
    await run("eval", "--env", "math", ...environment, ...few, "--model", "run/model", "--output", "evaluation");
    const summary = JSON.parse(await readFile(join(folder, "evaluation/summary.json"), "utf8")) as object;
    expect(summary).toMatchObject({ format: "lyceum-evaluation-summary", status: "completed" });
    await run("export", "run/model", "--merged", "--dtype", "float32", "--output", "merged");
    const adapter = join(folder, "run/model");
    const merged = join(folder, "merged");
    const [base, ofAdapter, ofMerged] = await forwardReference([
      { checkpoint, ids: [ids] },
      { checkpoint, adapter, ids: [ids] },
      { checkpoint: merged, ids: [ids] },
    ]);
    const own = await logitsOf(adapter);
    expect(largestDifference(own, base!.logits[0]!)).toBeGreaterThan(0.01);
    expect(largestDifference(own, ofAdapter!.logits[0]!)).toBeLessThanOrEqual(logitTolerance);
    expect(largestDifference(own, ofMerged!.logits[0]!)).toBeLessThanOrEqual(logitTolerance);
    expect(largestDifference(await logitsOf(merged), ofMerged!.logits[0]!)).toBeLessThanOrEqual(logitTolerance);
  });
});
