import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { mean } from "../../src/core/statistics.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { createTinkerBackend } from "../../trainers/backends/tinker/index.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { algorithmConformance } from "../../trainers/testing/index.ts";
import { preflightTraining } from "../../trainers/training/preflight-training.ts";
import { startTinkerServer } from "../backends/tinker/tinker-server.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { catalogue } from "../trainers/catalogue.ts";
import { changedBackend } from "../trainers/changed-backend.ts";
import { letterEnvironment } from "../trainers/letter-environment.ts";
import { type PlantedFault, plantedFaults } from "../trainers/preflight/planted-faults.ts";
import { eventsOf, letterConfig, runTraining } from "../trainers/run-training.ts";
import { torchPython } from "./torch-python.ts";

const { quick } = inject("interop");
const python = await torchPython();
const alone = { python, device: "cpu", threads: 1 } as const;

let torch: TrainingBackend;
let folder: string;
beforeAll(async () => {
  torch = await createTorchBackend(alone);
  folder = await mkdtemp(path.join(tmpdir(), "lyceum-torch-"));
});
afterAll(async () => {
  await torch?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The suite closes what it opens, and a Python process starts slowly. */
const shared = (): TrainingBackend => ({ ...methodsOf(torch), close: async () => {} });

function methodsOf(
  backend: TrainingBackend,
): Omit<TrainingBackend, "close" | typeof Symbol.asyncDispose> & AsyncDisposable {
  return {
    specificationVersion: backend.specificationVersion,
    capabilities: backend.capabilities,
    openModel: (spec, options) => backend.openModel(spec, options),
    [Symbol.asyncDispose]: async () => {},
  };
}

const entries = catalogue.filter((entry, index) =>
  quick ? entry.id === "grpo" : catalogue.findIndex(({ id }) => id === entry.id) === index,
);

describe.each(entries.map((entry) => [entry.id, entry] as const))("%s on PyTorch", (id, entry) => {
  const cases = algorithmConformance({
    algorithm: algorithms.get(id),
    config: {
      seed: 2,
      algorithm: { id, ...entry.settings },
      model: { scratch: { hiddenSize: 64, layers: 1, heads: 4, maxLength: 128 } },
      sampling: { maxTokens: 1 },
      training: { steps: 2 * entry.steps, batchSize: 8, learningRate: 2e-3, sampleEvery: 0 },
      evaluation: { split: "test", temperature: 1, limit: 64, episodesPerTask: 2 },
      checkpoint: { every: 0 },
      export: { format: "none" },
    },
    environment: entry.environment,
    backend: shared,
    margin: entry.margin / 2,
    ...(quick ? {} : { control: entry.control }),
  });
  it.each(cases)("$name", ({ run }) => run());
});

describe("the preflight on PyTorch", () => {
  const checksWith = async (fault?: PlantedFault) => {
    const { path: model } = await tinyModel(torch, await mkdtemp(path.join(folder, "model-")));
    const { checks } = await preflightTraining({
      environment: letterEnvironment(),
      backend: fault === undefined ? torch : changedBackend(fault.change, torch),
      config: letterConfig({
        model: { path: model, chatTemplate: "none", adapter: { type: "lora", rank: 4 } },
        sampling: { maxTokens: 4 },
      }),
    });
    return checks;
  };

  it("passes each check of a clean run", async () => {
    expect((await checksWith()).filter(({ status }) => status !== "passed")).toEqual([]);
  });

  it.each(Object.entries(plantedFaults))("finds %s", async (_, fault) => {
    const failures = (await checksWith(fault)).filter(({ status }) => status === "failed");
    expect(failures.find(({ name }) => name === fault.check)?.cause).toMatch(fault.cause);
  });
});

it.skipIf(quick)("one config has the same curves on the embedded engine, on PyTorch and on a server", async () => {
  await using onnx = await createOnnxBackend({ device: "cpu", threads: 1 });
  const source = await tinyModel(onnx, folder);
  await using server = await startTinkerServer({ backend: torch, source });
  await using tinker = await createTinkerBackend({ url: server.url, gradients: "sum", times: { delayMs: 1 } });
  const curves: Record<string, number[]> = {};
  for (const [name, backend] of Object.entries({ onnx, torch, tinker })) {
    const record = await runTraining({
      output: path.join(folder, name),
      backend,
      config: letterConfig({
        seed: 3,
        algorithm: { id: "grpo", groupSize: 8 },
        // The engines draw other random adapters, but all weights are the same.
        model: { path: source.path, chatTemplate: "none", adapter: { type: "full" } },
        sampling: { maxTokens: 1 },
        probe: { groups: 0 },
        training: { steps: 30, batchSize: 8, learningRate: 1e-2, epsilon: 1e-8 },
      }),
    });
    expect(record.error).toBeUndefined();
    curves[name] = eventsOf(record, "step").map(({ metrics }) => metrics["reward/mean"]!);
  }
  const { onnx: first, torch: second, tinker: third } = curves as Record<string, number[]>;
  // A rounding may decide a draw, and later draws then differ.
  expect(second!.slice(0, 2)).toEqual(first!.slice(0, 2));
  for (const curve of [first!, second!, third!]) {
    expect(mean(curve.slice(-5)), JSON.stringify(curves)).toBeGreaterThan(mean(curve.slice(0, 5)) + 0.2);
  }
  expect(Math.abs(mean(second!.slice(-5)) - mean(first!.slice(-5)))).toBeLessThan(0.25);
  // The API has seeds of 31 bits, so a server draws other tokens.
  expect(Math.abs(mean(third!.slice(-5)) - mean(first!.slice(-5)))).toBeLessThan(0.25);
});
