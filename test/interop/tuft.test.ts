import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readMetrics } from "../../reports/training/index.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { createTinkerBackend } from "../../trainers/backends/tinker/index.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { lyceum } from "../cli/run-lyceum.ts";
import { writeTinyCheckpoint } from "./tiny-checkpoint.ts";
import { startTuft, type TuftServer } from "./tuft-server.ts";

/** TuFT 0.2.2, a server that reads passes in protobuf only. Without a GPU it trains and does not sample. */

const apiKey = "tml-test";
let folder: string;
let model: string;
let server: TuftServer;
let engine: TrainingBackend;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-tuft-"));
  model = join(folder, "tiny-qwen3");
  engine = await createOnnxBackend({ device: "cpu" });
  await writeTinyCheckpoint(engine, { family: "qwen3", folder: model });
  server = await startTuft({ model, key: apiKey, folder: join(folder, "server") });
});

// The key comes from the environment.
beforeAll(() => vi.stubEnv("TINKER_API_KEY", apiKey));
afterAll(() => vi.unstubAllEnvs());

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

test("SFT of lyceum train lowers the loss", async () => {
  const config = {
    environment: join(import.meta.dirname, "letters-module.ts"),
    model: { path: model, adapter: { type: "lora", rank: 8 } },
    algorithm: { id: "sft" },
    sampling: { maxTokens: 1 },
    // There is no sampler.
    ...{ preflight: false, probe: { groups: 0 }, evaluation: { every: 0 }, export: { format: "none" } },
    training: { steps: 12, batchSize: 8, learningRate: 0.01 },
    backend: { type: "tinker", url: server.url },
  };
  await writeFile(join(folder, "sft.yaml"), JSON.stringify(config));
  const output = join(folder, "sft");
  const run = await lyceum(["train", "-c", join(folder, "sft.yaml"), "-o", output], { folder });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  const { events } = await readMetrics(join(output, "metrics.jsonl"));
  const losses = events.flatMap((event) => (event.type === "step" ? [event.metrics["loss/total"]!] : []));
  expect(losses).toHaveLength(12);
  expect(losses.at(-1)!).toBeLessThan(0.3 * losses[0]!);
});

test.each<readonly [string, LossTerm]>([
  ["cross-entropy", { type: "crossEntropy" }],
  ["importance sampling", { type: "importanceSampling" }],
  ["PPO", { type: "ppo", clipLow: 0.2, clipHigh: 0.28 }],
  ["CISPO", { type: "cispo", clipLow: 0.3, clipHigh: 0.28 }],
])("a new adapter has the base model's loss, and learns: %s", async (_, term) => {
  await using backend = await createTinkerBackend({ url: server.url });
  const source = { type: "pretrained", path: model } as const;
  const remote = await backend.openModel({ source, trainable: { type: "lora", lora: { rank: 4, seed: 1 } } });
  const local = await engine.openModel({ source, trainable: { type: "lora", lora: { rank: 4, seed: 1 } } });
  const data = exampleData(3);
  const [there, here] = [await remote.forwardBackward(data, [term]), await local.forwardBackward(data, [term])];
  await local.close();
  for (const [i, logprobs] of there.logprobs.entries()) {
    for (const [t, value] of logprobs.entries()) expect(Math.abs(value - here.logprobs[i]![t]!)).toBeLessThan(1e-4);
  }
  expect(Math.abs(there.loss / here.loss - 1)).toBeLessThan(1e-4);
  const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
  await remote.optimStep(adam, { stepId: 1 });
  await remote.forwardBackward(data, [term]);
  await remote.optimStep(adam, { stepId: 2 });
  expect((await remote.forwardBackward(data, [term])).loss).toBeLessThan(there.loss);
});

test("an export says that the weights are on the server's machine", async () => {
  await using backend = await createTinkerBackend({ url: server.url });
  const source = { type: "pretrained", path: model } as const;
  const remote = await backend.openModel({ source, trainable: { type: "lora", lora: { rank: 4, seed: 1 } } });
  const error = await remote.export(join(folder, "exported"), "peft").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "backend.unsupported" });
  const [place] = /\/\S+(?=\.$)/.exec((error as Error).message)!;
  expect(await readdir(place)).not.toEqual([]);
});
