import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { Model, ModelSource, TrainableSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { readPeftAdapter } from "../../../trainers/model-folders/weights/peft-adapter.ts";
import { openWeights } from "../../../trainers/model-folders/weights/safetensors.ts";
import { writeSafetensors } from "../../../trainers/model-folders/weights/safetensors-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const gpt2 = { model_type: "gpt2", vocab_size: 263, n_embd: 32, n_layer: 2, n_head: 4, n_positions: 64 };
const starcoder2 = {
  model_type: "starcoder2",
  vocab_size: 263,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  sliding_window: 3,
};
const families = { gpt2, starcoder2 };
const ids = [60, 61, 62, 63, 64, 65, 66];
const data = [datumFromIds({ ids, mask: ids.map(() => 1) })];
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };

let backend: TrainingBackend;
let folder: string;
let made = 0;

beforeAll(async () => {
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  folder = temporaryFolder();
});
afterAll(async () => {
  await backend.close();
});

const newFolder = (): string => path.join(folder, String(++made));
const open = (source: ModelSource, trainable: TrainableSpec): Promise<Model> =>
  backend.openModel({ source, trainable });
const from = (at: string): ModelSource => ({ type: "pretrained", path: at });
const lora = (targets?: readonly string[], more: { readonly start?: "merge" } = {}): TrainableSpec => ({
  type: "lora",
  ...more,
  lora: { rank: 2, alpha: 4, seed: 3, ...(targets === undefined ? {} : { targets }) },
});

async function learn(model: Model, steps = 2): Promise<void> {
  for (let step = 1; step <= steps; step++) {
    await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    await model.optimStep(adam, { stepId: step });
  }
}

async function logprobs(model: Model): Promise<readonly number[]> {
  const [result] = await model.forward(data, { outputs: ["logprobs"] });
  return [...result!.logprobs!];
}

/** Exports a whole model of a family after a little training, so that no bias is zero. */
async function exportWhole(config: Readonly<Record<string, unknown>>): Promise<string> {
  const model = await open({ type: "scratch", config, seed: 1 }, { type: "full" });
  await learn(model);
  const at = newFolder();
  await model.export(at, "huggingface");
  await rm(path.join(at, modelChecksumsFile));
  return at;
}

function expectClose(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  found.forEach((value, i) => {
    expect(value).toBeCloseTo(expected[i]!, 4);
  });
}

describe.each(Object.entries(families))("%s", (family, config) => {
  it("is exported and read back with the same log-probabilities", async () => {
    const model = await open({ type: "scratch", config, seed: 1 }, { type: "full" });
    const before = await logprobs(model);
    await learn(model);
    const at = newFolder();
    await model.export(at, "huggingface");
    const expected = await logprobs(model);
    expect(expected).not.toEqual(before);
    expect(await logprobs(await open(from(at), { type: "frozen" }))).toEqual(expected);
  });

  it("trains an adapter that continues, merges, and is exported with peft's names", async () => {
    const base = await exportWhole(config);
    const model = await open(from(base), lora());
    await learn(model);
    const expected = await logprobs(model);
    const at = newFolder();
    await model.export(at, "peft");
    const json = JSON.parse(await readFile(path.join(at, "adapter_config.json"), "utf8")) as Record<string, unknown>;
    expect(json.fan_in_fan_out).toBe(family === "gpt2");
    expect(json.target_modules).toEqual(
      family === "gpt2" ? ["c_attn", "c_proj", "c_fc"] : ["q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj"],
    );
    expect(await logprobs(await open(from(at), { type: "frozen" }))).toEqual(expected);
    expect(await logprobs(await open(from(at), { type: "lora", lora: {} }))).toEqual(expected);
    expectClose(await logprobs(await open(from(at), lora(undefined, { start: "merge" }))), expected);
    const merged = newFolder();
    await model.export(merged, "huggingface");
    expectClose(await logprobs(await open(from(merged), { type: "frozen" })), expected);
  });

  it("samples with the log-probabilities of forward, beyond its window", async () => {
    const model = await open({ type: "scratch", config, seed: 1 }, lora());
    await learn(model);
    const sampler = await model.snapshot();
    const promptIds = ids.slice(0, 4);
    const requests = [0, 1, 2].map((seed) => ({
      promptIds,
      settings: { temperature: 1, maxTokens: 12 },
      seed,
      stopTokenIds: [],
    }));
    for await (const sample of sampler.sample(requests, {})) {
      const all = [...promptIds, ...sample.ids];
      const datum = datumFromIds({ ids: all, mask: all.map((_, i) => (i < promptIds.length ? 0 : 1)) });
      const [result] = await model.forward([datum], { outputs: ["logprobs"] });
      expectClose([...result!.logprobs!].slice(promptIds.length - 1, all.length - 1), sample.logprobs);
    }
  });

  it("lists the known targets in the error for an unknown one", async () => {
    const source: ModelSource = { type: "scratch", config, seed: 1 };
    await expect(open(source, lora(["c_porj"]))).rejects.toMatchObject({
      code: "config.unknown-name",
      message: expect.stringContaining("c_porj"),
      hint: expect.stringContaining("c_proj"),
    });
    await expect(open(source, lora(["gate_proj"]))).rejects.toMatchObject({ code: "config.unknown-name" });
  });
});

describe("gpt2", () => {
  it("stores the matrices of its linear layers as (inputs, outputs) in files", async () => {
    await using weights = await openWeights(await exportWhole(gpt2));
    expect(weights.info("transformer.h.0.attn.c_attn.weight").shape).toEqual([32, 96]);
    expect(weights.info("transformer.h.1.mlp.c_proj.weight").shape).toEqual([128, 32]);
    expect(weights.info("transformer.wpe.weight").shape).toEqual([64, 32]);
    expect(weights.has("lm_head.weight")).toBe(false);
  });

  it("is read from a file of the body alone, with attention masks, as it is published", async () => {
    const at = await exportWhole(gpt2);
    const expected = await logprobs(await open(from(at), { type: "frozen" }));
    const file = path.join(at, "model.safetensors");
    const reader = await openWeights(at);
    const tensors = await Promise.all(
      reader.names.map(async (name) => ({
        name: name.replace(/^transformer\./, ""),
        shape: reader.info(name).shape,
        data: await reader.read(name),
      })),
    );
    await reader[Symbol.asyncDispose]();
    const mask = { name: "h.0.attn.bias", shape: [1, 1, 64, 64], data: new Float32Array(64 * 64) };
    await writeSafetensors(file, [...tensors, mask], {});
    expect(await logprobs(await open(from(at), { type: "frozen" }))).toEqual(expected);
  });

  it("distinguishes its two layers called c_proj if asked to", async () => {
    const base = await exportWhole(gpt2);
    const model = await open(from(base), lora(["mlp.c_proj", "c_attn"]));
    await learn(model);
    const at = newFolder();
    await model.export(at, "peft");
    const { tensors } = await readPeftAdapter(at);
    const modules = new Set([...tensors.keys()].map((name) => name.replace(/^transformer\.h\.\d+\.|\.lora_.*$/g, "")));
    expect(modules).toEqual(new Set(["mlp.c_proj", "attn.c_attn"]));
    const json = JSON.parse(await readFile(path.join(at, "adapter_config.json"), "utf8")) as Record<string, unknown>;
    expect(json.target_modules).toEqual(["mlp.c_proj", "c_attn"]);
    // The same layers under other names continue. Fewer or more layers do not.
    const expected = await logprobs(model);
    for (const targets of [undefined, ["attn.c_attn", "mlp.c_proj"], ["c_attn", "mlp.c_proj"]]) {
      const trainable: TrainableSpec = { type: "lora", lora: targets === undefined ? {} : { targets } };
      expect(await logprobs(await open(from(at), trainable))).toEqual(expected);
    }
    await expect(open(from(at), { type: "lora", lora: { targets: ["c_attn", "c_proj"] } })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("mlp.c_proj"),
    });
  });

  it("limits its length to its table of positions", async () => {
    const model = await open({ type: "scratch", config: gpt2, seed: 1 }, { type: "frozen" });
    expect(model.maxLength).toBe(64);
    const long = Array.from({ length: 70 }, (_, i) => i);
    const datum = datumFromIds({ ids: long, mask: long.map(() => 1) });
    await expect(model.forward([datum], { outputs: ["logprobs"] })).rejects.toMatchObject({
      code: "policy.unsupported-input",
      message: expect.stringContaining("64"),
    });
  });

  it("refuses an adapter of another family", async () => {
    const adapter = newFolder();
    const model = await open(from(await exportWhole(starcoder2)), lora());
    await model.export(adapter, "peft");
    const base = await exportWhole(gpt2);
    await expect(open({ type: "pretrained", path: adapter, base }, { type: "frozen" })).rejects.toMatchObject({
      code: "model.mismatch",
      hint: expect.stringContaining("base"),
    });
    const other = JSON.parse(await readFile(path.join(base, "config.json"), "utf8")) as object;
    await writeFile(path.join(base, "config.json"), JSON.stringify({ ...other, n_positions: 32 }));
    await expect(open(from(base), { type: "frozen" })).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining("wpe"),
    });
  });
});
