import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { createTinkerBackend, type Encoding } from "../../../trainers/backends/tinker/index.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { preflightTraining } from "../../../trainers/preflight/preflight-training.ts";
import { startTinkerServer } from "../../backends/tinker/tinker-server.ts";
import { createBigramBackend } from "../bigram-backend.ts";
import { changedBackend } from "../changed-backend.ts";
import { letterEnvironment } from "../letter-environment.ts";
import { eventsOf, letterConfig, runTraining, temporaryFolder } from "../run-training.ts";
import { missingLayer, type PlantedFault, plantedFaults } from "./planted-faults.ts";

interface Case {
  readonly backend: TrainingBackend;
  readonly config: TrainingConfigInput;
}

const tiny = { hiddenSize: 32, layers: 2, heads: 2, maxLength: 96 };
let onnx: TrainingBackend;
let folder: string;
/** The folder of a trained model of a backend. A table without training has one distribution for all contexts. */
const trained = (backend: "bigram" | "onnx"): string => join(folder, backend, "model");

beforeAll(async () => {
  onnx = await createOnnxBackend({ device: "cpu", threads: 1 });
  folder = await mkdtemp(join(tmpdir(), "lyceum-preflight-test-"));
  const config = letterConfig({ algorithm: { id: "sft" }, model: { scratch: tiny }, training: { steps: 3 } });
  for (const [name, backend] of Object.entries({ onnx, bigram: createBigramBackend() })) {
    const record = await runTraining({ output: join(folder, name), backend, config });
    expect(record.error).toBeUndefined();
  }
});

afterAll(async () => {
  await onnx.close();
  await rm(folder, { recursive: true, force: true });
});

/** Opens a backend whose models have a fault. */
type OpenCase = (fault?: PlantedFault) => Case | Promise<Case>;

const config = (model: TrainingConfigInput["model"]) => letterConfig({ model, sampling: { maxTokens: 4 } });
const withFault = (backend: TrainingBackend, fault: PlantedFault | undefined): TrainingBackend =>
  fault === undefined ? backend : changedBackend(fault.change, backend);
const adapter = { type: "lora", rank: 4 } as const;

/** Opens the Tinker backend on a server whose engine has the fault. */
async function onServer(encoding: Encoding, model: { readonly full?: true }, fault?: PlantedFault): Promise<Case> {
  const source = { type: "pretrained", path: trained("onnx") } as const;
  const server = await startTinkerServer({ backend: onnx, source, ...(fault && { change: fault.change }) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const backend = await createTinkerBackend({ url: server.url, encoding, gradients: "sum", times: { delayMs: 1 } });
  onTestFinished(() => backend.close());
  return { backend, config: config({ path: source.path, adapter: model.full ? { type: "full" } : adapter }) };
}

const cases: Readonly<Record<string, OpenCase>> = {
  "a bigram backend": (fault) => ({
    backend: withFault(createBigramBackend(), fault),
    config: config({ path: trained("bigram") }),
  }),
  "the ONNX backend, all weights": (fault) => ({ backend: withFault(onnx, fault), config: config({ scratch: tiny }) }),
  "the ONNX backend, an adapter": (fault) => ({
    backend: withFault(onnx, fault),
    config: config({ path: trained("onnx"), adapter }),
  }),
  "the Tinker backend, an adapter, in JSON": (fault) => onServer("json", {}, fault),
  "the Tinker backend, all weights, in protobuf": (fault) => onServer("protobuf", { full: true }, fault),
};

async function findings(open: OpenCase, fault?: PlantedFault) {
  const opened = await open(fault);
  const { checks } = await preflightTraining({ environment: letterEnvironment(), ...opened });
  return checks;
}

describe.each(Object.entries(cases))("the preflight on %s", (_, open) => {
  it("passes each check of a clean run", async () => {
    const checks = await findings(open);
    expect(checks.map(({ name, status }) => `${name} ${status}`)).toEqual(
      ["sampled-ids", "mask", "logprobs", "sync", "restore"].map((name) => `${name} passed`),
    );
  });

  it.each(Object.entries(plantedFaults))("finds %s", async (_, fault) => {
    const checks = await findings(open, fault);
    const failures = checks.filter(({ status }) => status === "failed");
    expect(failures.map(({ name }) => name)).toContain(fault.check);
    expect(failures.find(({ name }) => name === fault.check)!.cause).toMatch(fault.cause);
  });
});

describe.each([
  "the ONNX backend, an adapter",
  "the Tinker backend, an adapter, in JSON",
])("the preflight on %s", (name) => {
  it.each([
    "layers.0.self_attn.q_proj.lora_B",
    "layers.1.mlp.up_proj.lora_B",
    "layers.1.mlp.down_proj.lora_B",
  ])("finds a sampler without %s", async (layer) => {
    const fault = missingLayer(onnx, {
      folder,
      base: trained("onnx"),
      layer: new RegExp(layer.replaceAll(".", "\\.")),
    });
    const failures = (await findings(cases[name]!, fault)).filter(({ status }) => status === "failed");
    expect(failures.map(({ name, cause }) => [name, fault.cause.test(cause!)])).toEqual([["sync", true]]);
  });
});

describe("a training with a preflight", () => {
  it("ends with the cause before its first step, and deletes the trial's checkpoint", async () => {
    const output = await temporaryFolder();
    const fault = plantedFaults["weights that never reach the sampler"]!;
    const record = await runTraining({ output, backend: changedBackend(fault.change), config: letterConfig() });
    expect(record.error).toMatchObject({
      code: "preflight.failed",
      message: expect.stringContaining("the sampler still answers with the weights before it"),
      hint: expect.stringContaining("preflight: false"),
    });
    expect(record.events.map(({ type }) => type)).toEqual(["run-start", "preflight", "run-end"]);
    expect(existsSync(join(output, "preflight"))).toBe(false);
  });

  it("trains despite a fault with preflight: false", async () => {
    const fault = plantedFaults["weights that never reach the sampler"]!;
    const config = letterConfig({ preflight: false });
    const record = await runTraining({
      output: await temporaryFolder(),
      backend: changedBackend(fault.change),
      config,
    });
    expect(record.error).toBeUndefined();
    expect(eventsOf(record, "preflight")).toEqual([]);
  });

  it("has the same weights as one without, also after a resumption", async () => {
    const weights = async (preflight: boolean): Promise<unknown> => {
      const output = await temporaryFolder();
      const config = letterConfig({ preflight, checkpoint: { every: 1 }, training: { steps: 4 } });
      const stop = new AbortController();
      await runTraining({
        output,
        config,
        signal: stop.signal,
        onEvent: (event) => {
          if (event.type === "step" && event.step === 2) stop.abort();
        },
      });
      const record = await runTraining({ output, config, resume: true });
      expect(record.error).toBeUndefined();
      return eventsOf(record, "step").map(({ metrics }) => [metrics["reward/mean"], metrics["loss/total"]]);
    };
    expect(await weights(true)).toEqual(await weights(false));
  });

  it("skips its checks if the episodes fail", async () => {
    const environment = defineEnvironment({
      id: "broken",
      tasks: ["a"],
      reset: () => {
        throw new Error("no connection");
      },
      step: () => ({ reward: 0 }),
    });
    const { checks } = await preflightTraining({ environment, backend: createBigramBackend(), config: letterConfig() });
    expect(checks).toMatchObject([{ status: "skipped", detail: "the episodes have no completion" }]);
  });
});
