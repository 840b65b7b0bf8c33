import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { Model, ModelSpec, TrainableSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { findBase } from "../../../trainers/model-folders/find-base.ts";
import { findModel } from "../../../trainers/model-folders/model-folder.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { readPeftAdapter, writePeftAdapter } from "../../../trainers/model-folders/weights/peft-adapter.ts";
import { startFakeHub } from "../../core/hub/fake-hub.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const scratch = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const lora: TrainableSpec = { type: "lora", lora: { rank: 2, alpha: 4, seed: 3 } };
const ids = [60, 61, 62, 63, 64];
const data = [datumFromIds({ ids, mask: ids.map(() => 1) })];
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };

describe("an adapter as a model", () => {
  let backend: TrainingBackend;
  let folder: string;
  /** A whole model, and an adapter that was trained on it. */
  let base: string;
  let adapter: string;
  let expected: readonly number[];

  beforeAll(async () => {
    backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    folder = temporaryFolder();
    base = path.join(folder, "base model");
    await (await backend.openModel({ source: scratch, trainable: { type: "full" } })).export(base, "huggingface");
    // The tests change files on purpose.
    await rm(path.join(base, modelChecksumsFile));
    adapter = path.join(folder, "run", "model");
    await mkdir(path.dirname(adapter));
    const model = await open(base, lora);
    await learn(model, 3);
    await model.export(adapter, "peft");
    await rm(path.join(adapter, modelChecksumsFile));
    expected = await logprobs(model);
  });
  afterAll(async () => {
    await backend.close();
  });

  const open = (model: string, trainable: TrainableSpec, more: Partial<ModelSpec["source"]> = {}): Promise<Model> =>
    backend.openModel({ source: { type: "pretrained", path: model, ...more } as ModelSpec["source"], trainable });

  async function learn(model: Model, steps: number): Promise<void> {
    for (let step = 1; step <= steps; step++) {
      await model.forwardBackward(data, [{ type: "crossEntropy" }]);
      await model.optimStep(adam, { stepId: step });
    }
  }

  async function logprobs(model: Model): Promise<readonly number[]> {
    const [result] = await model.forward(data, { outputs: ["logprobs"] });
    return [...result!.logprobs!];
  }

  /** A copy of the adapter that a test may damage. */
  async function copied(name: string): Promise<string> {
    const copy = path.join(folder, "run", name);
    await cp(adapter, copy, { recursive: true });
    return copy;
  }

  async function changeConfig(at: string, change: Readonly<Record<string, unknown>>): Promise<void> {
    const file = path.join(at, "adapter_config.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...change }));
  }

  it("plays and continues training with its weights", async () => {
    expect(await logprobs(await open(adapter, { type: "frozen" }))).toEqual(expected);
    const continued = await open(adapter, { type: "lora", lora: {} });
    expect(await logprobs(continued)).toEqual(expected);
    await learn(continued, 1);
    expect(await logprobs(continued)).not.toEqual(expected);
    await expect((await open(adapter, { type: "frozen" })).forwardBackward(data, [])).rejects.toMatchObject({
      code: "backend.unsupported",
    });
  });

  it.each([
    { name: "full training", trainable: { type: "full" } },
    { name: "a new adapter", trainable: { type: "lora", start: "merge", lora: { rank: 1, alpha: 1 } } },
  ] as const)("is merged for $name", async ({ trainable }) => {
    const merged = await open(adapter, trainable);
    const found = await logprobs(merged);
    found.forEach((value, i) => {
      expect(value).toBeCloseTo(expected[i]!, 4);
    });
    await learn(merged, 1);
    // The merge works on a copy: the base and the adapter are unchanged.
    expect(await logprobs(await open(adapter, { type: "frozen" }))).toEqual(expected);
  });

  it("is exported again unchanged, and merged", async () => {
    const again = path.join(folder, "run", "again");
    const model = await open(adapter, { type: "frozen" });
    await model.export(again, "peft");
    expect(await readPeftAdapter(again)).toEqual(await readPeftAdapter(adapter));
    const merged = path.join(folder, "merged");
    await model.export(merged, "huggingface");
    const found = await logprobs(await open(merged, { type: "frozen" }));
    found.forEach((value, i) => {
      expect(value).toBeCloseTo(expected[i]!, 4);
    });
  });

  it("stores its base's path relative to its own folder, so that both can be moved", async () => {
    expect((await readPeftAdapter(adapter)).config.baseModel).toBe("../../base model");
    const moved = path.join(folder, "moved");
    await mkdir(moved);
    await cp(base, path.join(moved, "base model"), { recursive: true });
    await cp(path.join(folder, "run"), path.join(moved, "run"), { recursive: true });
    const away = `${base} away`;
    await rename(base, away);
    try {
      expect(await logprobs(await open(path.join(moved, "run", "model"), { type: "frozen" }))).toEqual(expected);
    } finally {
      await rename(away, base);
    }
  });

  it("finds a base at its recorded path, and a base that is given", async () => {
    const far = path.join(folder, "some", "where", "else");
    await cp(adapter, far, { recursive: true });
    expect(await logprobs(await open(far, { type: "frozen" }))).toEqual(expected);
    await rm(path.join(far, "base_model.json"));
    const lost = open(far, { type: "frozen" });
    await expect(lost).rejects.toMatchObject({ code: "model.missing", hint: expect.stringContaining("--base") });
    expect(await logprobs(await open(far, { type: "frozen" }, { base }))).toEqual(expected);
  });

  it("stores a base with random weights in its own folder", async () => {
    const model = await backend.openModel({ source: scratch, trainable: lora });
    await learn(model, 2);
    const target = path.join(folder, "scratch adapter");
    await model.export(target, "peft");
    expect(await readdir(target)).toContain("base");
    const moved = path.join(folder, "scratch adapter, moved");
    await rename(target, moved);
    expect(await logprobs(await open(moved, { type: "frozen" }))).toEqual(await logprobs(model));
  });

  it("is refused for another base, whether the weights or the shapes differ", async () => {
    const otherWeights = path.join(folder, "other weights");
    const seeded = await backend.openModel({ source: { ...scratch, seed: 2 }, trainable: { type: "full" } });
    await seeded.export(otherWeights, "huggingface");
    const wrong = open(adapter, { type: "frozen" }, { base: otherWeights });
    await expect(wrong).rejects.toMatchObject({ code: "model.mismatch", hint: expect.stringContaining("--base") });

    const config = { ...tinyConfig, intermediate_size: 2 * tinyConfig.intermediate_size };
    const otherShape = path.join(folder, "other shape");
    const wider = await backend.openModel({ source: { ...scratch, config }, trainable: { type: "full" } });
    await wider.export(otherShape, "huggingface");
    const unmarked = await copied("without a hash");
    await rm(path.join(unmarked, "base_model.json"));
    const misshapen = open(unmarked, { type: "full" }, { base: otherShape });
    await expect(misshapen).rejects.toMatchObject({
      code: "model.mismatch",
      message: expect.stringMatching(/the model needs \[/),
    });
    // A refused adapter leaves nothing behind: the same base opens with an adapter that fits.
    expect(await logprobs(await open(adapter, { type: "frozen" }))).toEqual(expected);
  });

  it("is refused without a named base, on another adapter, or if incomplete", async () => {
    const nameless = await copied("nameless");
    await changeConfig(nameless, { base_model_name_or_path: null });
    await expect(open(nameless, { type: "frozen" })).rejects.toMatchObject({ code: "model.missing" });
    await changeConfig(nameless, { base_model_name_or_path: "../model" });
    await expect(open(nameless, { type: "frozen" })).rejects.toMatchObject({ code: "model.unsupported" });
    const half = await copied("half-written");
    await rm(path.join(half, "adapter_model.safetensors"));
    await expect(open(half, { type: "frozen" })).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("adapter_model.safetensors"),
    });
  });

  it("refuses a base for a whole model", async () => {
    const whole = open(base, { type: "frozen" }, { base });
    await expect(whole).rejects.toMatchObject({ code: "config.invalid", hint: expect.stringContaining("base") });
  });

  it.each([
    ["rank", { rank: 4 }],
    ["alpha", { alpha: 5 }],
    ["targets", { targets: ["q_proj"] as const }],
  ])("does not continue training with another %s", async (key, other) => {
    await expect(open(adapter, { type: "lora", lora: other })).rejects.toMatchObject({
      code: "config.invalid",
      data: { key },
    });
  });

  it("of some layers plays, but continues training only if merged", async () => {
    const { config, tensors } = await readPeftAdapter(adapter);
    const first = [...tensors].filter(([name]) => name.startsWith("model.layers.0."));
    expect(first.length).toBeLessThan(tensors.size);
    const target = path.join(folder, "run", "one layer");
    await writePeftAdapter({ folder: target, config, tensors: first.map(([name, tensor]) => ({ name, ...tensor })) });
    await copyFile(path.join(adapter, "base_model.json"), path.join(target, "base_model.json"));
    expect(await logprobs(await open(target, { type: "frozen" }))).not.toEqual(expected);
    await expect(open(target, { type: "lora", lora: {} })).rejects.toMatchObject({ code: "config.invalid" });
    await learn(await open(target, { type: "lora", start: "merge", lora: {} }), 1);
  });

  it("on the hub uses its base from the hub, at the named revision", async () => {
    const files = async (at: string): Promise<Record<string, Uint8Array>> =>
      Object.fromEntries(
        await Promise.all((await readdir(at)).map(async (name) => [name, await readFile(path.join(at, name))])),
      );
    const published = await copied("published");
    // An adapter of a hub model has no recorded path.
    await writeFile(path.join(published, "base_model.json"), "{}");
    const commits = { base: "1".repeat(40), newer: "2".repeat(40), adapter: "3".repeat(40) };
    await changeConfig(published, { base_model_name_or_path: "owner/base", revision: commits.base });
    await using hub = await startFakeHub([
      {
        type: "model",
        name: "owner/base",
        branches: { main: commits.newer },
        commits: { [commits.base]: await files(base), [commits.newer]: { "README.md": "x" } },
      },
      {
        type: "model",
        name: "owner/adapter",
        branches: { main: commits.adapter },
        commits: { [commits.adapter]: await files(published) },
      },
    ]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(folder, "cache") };
    const found = await findModel("owner/adapter", options);
    expect(found).toMatchObject({ kind: "adapter", hub: { id: "owner/adapter", revision: commits.adapter } });
    expect(await findBase(found.folder, options)).toMatchObject({
      kind: "model",
      hub: { id: "owner/base", revision: commits.base },
    });
  });
});
