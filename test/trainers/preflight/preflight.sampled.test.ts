import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { createTinkerBackend, type Encoding } from "../../../trainers/backends/tinker/index.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { preflightTraining } from "../../../trainers/training/preflight-training.ts";
import { startTinkerServer } from "../../backends/tinker/tinker-server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { shareOf } from "../../tier.ts";
import { createBigramBackend } from "../bigram-backend.ts";
import { changedBackend } from "../changed-backend.ts";
import { letterEnvironment } from "../letter-environment.ts";
import { eventsOf, letterConfig, runTraining } from "../run-training.ts";
import { changedSampler, missingLayer, type PlantedFault, plantedFaults } from "./planted-faults.ts";

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
  folder = temporaryFolder();
  const config = letterConfig({ algorithm: { id: "sft" }, model: { scratch: tiny }, training: { steps: 3 } });
  for (const [name, backend] of Object.entries({ onnx, bigram: createBigramBackend() })) {
    const record = await runTraining({ output: join(folder, name), backend, config });
    expect(record.error).toBeUndefined();
  }
});

afterAll(async () => {
  await onnx.close();
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

describe.each(Object.entries(cases))("the preflight on %s", (name, open) => {
  it("passes each check of a clean run", async () => {
    const checks = await findings(open);
    expect(checks.map(({ name, status }) => `${name} ${status}`)).toEqual(
      ["sampled-ids", "mask", "logprobs", "sync", "restore"].map((name) => `${name} passed`),
    );
  });

  // The two servers have a half of the faults each.
  const faults = Object.entries(plantedFaults);
  const encodings = ["JSON", "protobuf"];
  const engine = encodings.findIndex((encoding) => name.endsWith(encoding));

  it.each(engine === -1 ? faults : shareOf(faults, { engine, of: encodings.length }))("finds %s", async (_, fault) => {
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

describe("the preflight on a server, which saves before the first step", () => {
  const source = () => ({ type: "pretrained", path: trained("onnx") }) as const;
  const opened = async (options: Partial<Parameters<typeof startTinkerServer>[0]> = {}) => {
    const server = await startTinkerServer({ backend: onnx, source: source(), ...options });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const backend = await createTinkerBackend({ url: server.url, gradients: "sum", times: { delayMs: 1 } });
    onTestFinished(() => backend.close());
    const saved = async () =>
      ((await (await fetch(`${server.url}/api/v1/checkpoints`)).json()) as { checkpoints: unknown[] }).checkpoints;
    const checksOn = async (used: TrainingBackend = backend) =>
      findings(() => ({ backend: used, config: config({ path: source().path, adapter }) }));
    const savesOf = () => server.requests.filter(({ route }) => route === "save_weights").length;
    return { server, backend, saved, checksOn, savesOf };
  };
  /** Has the words of a JAX server whose folder of checkpoints is relative. */
  const problem = "Checkpoint path should be absolute. Got weights/a";
  const fails = { save: () => Promise.reject(new Error(problem)) };
  /** A model that is sure of each token, so that there is no trial update. */
  const sure = (backend: TrainingBackend): TrainingBackend =>
    changedBackend(
      (model) => ({
        forward: async (...call) =>
          (await model.forward(...call)).map(({ logprobs }) => ({ logprobs: logprobs!.map(() => 0) })),
        snapshot: async () =>
          changedSampler(await model.snapshot(), (sample) => ({ ...sample, logprobs: sample.ids.map(() => 0) })),
      }),
      backend,
    );

  it.each([
    false,
    true,
  ])("says what is not saved and what to do if it cannot save (sure of each token: %s)", async (isSure) => {
    const { backend, saved, checksOn, savesOf } = await opened({ change: () => fails });
    const failures = (await checksOn(isSure ? sure(backend) : backend)).filter(({ status }) => status === "failed");
    expect(failures).toEqual([
      {
        ...{ name: "save", status: "failed" },
        detail: expect.stringContaining(`cannot save the weights, and nothing was saved: `),
        cause: expect.stringMatching(/start the run again: .* absolute --checkpoints-base/),
      },
    ]);
    expect(failures[0]!.detail).toContain(problem);
    expect(savesOf()).toBe(1);
    await expect.poll(saved).toEqual([]);
  });

  it.each([false, true])("deletes what it has saved (sure of each token: %s)", async (isSure) => {
    const { backend, saved, checksOn, savesOf } = await opened();
    const checks = await checksOn(isSure ? sure(backend) : backend);
    expect(checks.filter(({ status }) => status === "failed")).toEqual([]);
    expect(savesOf()).toBe(isSure ? 1 : 2);
    await expect.poll(saved).toEqual([]);
  });

  it("deletes the first state if the second one cannot be saved", async () => {
    let saves = 0;
    const change = (model: Model) => ({
      save: (folder: string) => (++saves === 1 ? model.save(folder) : Promise.reject(new Error(problem))),
    });
    const { saved, checksOn } = await opened({ change });
    await expect(checksOn()).rejects.toMatchObject({ message: expect.stringContaining(problem) });
    expect(saves).toBe(2);
    await expect.poll(saved).toEqual([]);
  });

  it.each([404, 405, 501])("names what a server keeps that refuses to delete it, with status %i", async (status) => {
    const { server, saved, checksOn } = await opened();
    server.fault = {
      before: (_route, request, response) => {
        if (request.method !== "DELETE") return false;
        return !!response.writeHead(status).end("{}");
      },
    };
    const checks = await checksOn();
    expect(checks.filter(({ status }) => status !== "passed")).toEqual([]);
    const kept = (await saved()).map((each) => (each as { readonly tinker_path: string }).tinker_path);
    const states = kept.filter((path) => path.includes("/weights/"));
    expect(states).toHaveLength(2);
    expect(checks.at(-1)).toEqual({
      ...{ name: "save", status: "passed" },
      detail: `the server cannot delete what was saved for these checks: ${states.join(", ")}`,
    });
  });
});

describe("a training with a preflight", () => {
  it("ends with the cause before its first step, and deletes the trial's checkpoint", async () => {
    const output = temporaryFolder();
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
      output: temporaryFolder(),
      backend: changedBackend(fault.change),
      config,
    });
    expect(record.error).toBeUndefined();
    expect(eventsOf(record, "preflight")).toEqual([]);
  });

  it("has the same weights as one without, also after a resumption", async () => {
    const weights = async (preflight: boolean): Promise<unknown> => {
      const output = temporaryFolder();
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
