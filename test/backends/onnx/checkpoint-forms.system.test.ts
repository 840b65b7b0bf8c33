import { cp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../../trainers/backends/onnx/inspect.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { unreadKeys } from "../../../trainers/model-folders/architecture/unread-keys.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { openWeights } from "../../../trainers/model-folders/weights/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../../trainers/model-folders/weights/safetensors-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const embedding = "model.embed_tokens.weight";
const head = "lm_head.weight";
const ids = [60, 61, 62, 63];

let backend: TrainingBackend;
let folder: string;
let tensors: readonly TensorToWrite[];
let expected: Float32Array;
let count = 0;

beforeAll(async () => {
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  folder = temporaryFolder();
  const model = await backend.openModel({
    source: { type: "scratch", config: tinyConfig, seed: 1 },
    trainable: { type: "full" },
  });
  expected = await readLogits(model, ids);
  await model.export(path.join(folder, "good"), "huggingface");
  await rm(path.join(folder, "good", modelChecksumsFile));
  await using weights = await openWeights(path.join(folder, "good"));
  tensors = await Promise.all(
    weights.names.map(async (name) => ({ name, shape: weights.info(name).shape, data: await weights.read(name) })),
  );
});
afterAll(async () => {
  await backend.close();
});

async function open(written: readonly TensorToWrite[], config: object = {}): Promise<Model> {
  const copy = path.join(folder, String(++count));
  await cp(path.join(folder, "good"), copy, { recursive: true });
  const file = path.join(copy, "config.json");
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...config }));
  await writeSafetensors(path.join(copy, "model.safetensors"), written);
  return backend.openModel({ source: { type: "pretrained", path: copy }, trainable: { type: "frozen" } });
}

function tensor(name: string): TensorToWrite & { readonly data: Float32Array } {
  return tensors.find((found) => found.name === name) as TensorToWrite & { readonly data: Float32Array };
}

describe("a checkpoint whose config ties the head to the embedding", () => {
  it("uses a head of its own if the file has another one, and exports it as untied", async () => {
    const negated = tensor(embedding).data.map((value) => -value);
    const model = await open([...tensors, { ...tensor(embedding), name: head, data: negated }]);
    const logits = await readLogits(model, ids);
    expect([...logits]).toEqual([...expected].map((value) => expect.closeTo(-value, 4)));
    const exported = path.join(folder, "exported");
    await model.export(exported, "huggingface");
    expect(JSON.parse(await readFile(path.join(exported, "config.json"), "utf8"))).toMatchObject({
      tie_word_embeddings: false,
    });
    const again = await backend.openModel({
      source: { type: "pretrained", path: exported },
      trainable: { type: "frozen" },
    });
    expect([...(await readLogits(again, ids))]).toEqual([...logits]);
  });

  it.each([
    [
      "the same head beside the embedding",
      (all: readonly TensorToWrite[]) => [...all, { ...tensor(embedding), name: head }],
    ],
    [
      "only the head",
      (all: readonly TensorToWrite[]) => all.map((one) => (one.name === embedding ? { ...one, name: head } : one)),
    ],
  ])("reads %s as the embedding", async (_, change) => {
    const model = await open(change(tensors));
    expect([...(await readLogits(model, ids))]).toEqual([...expected]);
  });

  it("is refused if the head has another shape", async () => {
    const wrong = { name: head, shape: [2, 2], data: new Float32Array(4) };
    await expect(open([...tensors, wrong])).rejects.toMatchObject({ code: "model.malformed" });
  });
});

it("an untied checkpoint with only the head is refused", async () => {
  const only = tensors.map((one) => (one.name === embedding ? { ...one, name: head } : one));
  await expect(open(only, { tie_word_embeddings: false })).rejects.toMatchObject({
    code: "model.missing",
    message: expect.stringContaining(embedding),
  });
});

describe("what nothing reads", () => {
  it("is warned of, but not the buffers of older checkpoints", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const buffer = { name: "model.layers.0.self_attn.rotary_emb.inv_freq", shape: [1], data: Float32Array.of(1) };
    const bias = { name: "model.layers.0.self_attn.q_proj.bias", shape: [32], data: new Float32Array(32) };
    const { loadBase } = await import("../../../trainers/backends/onnx/engine/base-store.ts");
    const copy = path.join(folder, "unread");
    await cp(path.join(folder, "good"), copy, { recursive: true });
    await writeSafetensors(path.join(copy, "model.safetensors"), [...tensors, buffer, bias]);
    const file = path.join(copy, "config.json");
    await writeFile(file, JSON.stringify({ ...tinyConfig, final_logit_softcapping: 30, use_cache: true }));
    await loadBase({ type: "folder", folder: copy });
    await new Promise(setImmediate);
    process.off("warning", listen);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("final_logit_softcapping");
    expect(warnings[0]).toContain(bias.name);
    expect(warnings[0]).not.toContain("inv_freq");
    expect(warnings[0]).not.toContain("use_cache");
  });

  it("is every key outside of the known ones that has a value", () => {
    const source = { ...tinyConfig, logit_scale: 2, rope_scaling: null, another: null, torch_dtype: "float32" };
    expect(unreadKeys(readDecoderConfig(source))).toEqual(["logit_scale"]);
    const gpt2 = { model_type: "gpt2", vocab_size: 9, n_embd: 4, n_layer: 1, n_head: 2, attn_pdrop: 0.1, n_inner: 8 };
    expect(unreadKeys(readDecoderConfig(gpt2))).toEqual([]);
  });
});

describe("rotary settings", () => {
  const llama3 = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };
  const rope = (more: object) => readDecoderConfig({ ...tinyConfig, rope_theta: undefined, ...more }).rope;

  it("are those of rope_scaling if rope_parameters are there too", () => {
    const parameters = { rope_type: "default", rope_theta: 500 };
    expect(() => rope({ rope_parameters: parameters, rope_scaling: { rope_type: "yarn", factor: 4 } })).toThrow(/yarn/);
    expect(rope({ rope_parameters: parameters, rope_scaling: { type: "linear", factor: 2 } })).toMatchObject({
      theta: 10_000,
      scaling: { type: "linear", factor: 2 },
    });
    expect(rope({ rope_parameters: parameters, rope_scaling: {} })).toMatchObject({ theta: 500, scaling: undefined });
    expect(rope({ rope_parameters: parameters, rope_scaling: null })).toMatchObject({ theta: 500 });
  });

  it("have the original context of transformers: outside of the settings, in them, or the whole context", () => {
    const positions = (more: object) => (rope(more)?.scaling as { originalMaxPositions: number }).originalMaxPositions;
    const inside = { ...llama3, original_max_position_embeddings: 32 };
    expect(positions({ rope_scaling: inside })).toBe(32);
    expect(positions({ rope_scaling: inside, original_max_position_embeddings: 16 })).toBe(16);
    expect(positions({ rope_scaling: llama3 })).toBe(tinyConfig.max_position_embeddings);
  });

  describe("of Gemma 3", () => {
    const gemma = (more: object) =>
      readDecoderConfig({
        ...tinyConfig,
        model_type: "gemma3_text",
        num_key_value_heads: 1,
        rope_theta: undefined,
        ...more,
      });
    const parameters = {
      full_attention: { rope_type: "default", rope_theta: 500 },
      sliding_attention: { rope_type: "default", rope_theta: 7 },
    };

    it("are those of each type of layer, and rope_scaling adds to the first", () => {
      expect(gemma({ rope_parameters: parameters }).rope).toMatchObject({ theta: 500, windowed: { theta: 7 } });
      expect(gemma({ rope_theta: 600, rope_local_base_freq: 8 }).rope).toMatchObject({
        theta: 600,
        windowed: { theta: 8 },
      });
      expect(gemma({}).rope).toMatchObject({ theta: 1_000_000, windowed: { theta: 10_000 } });
      const scaled = gemma({ rope_parameters: parameters, rope_scaling: { rope_type: "linear", factor: 8 } }).rope;
      expect(scaled).toMatchObject({ theta: 500, scaling: { factor: 8 }, windowed: { theta: 7, scaling: undefined } });
    });

    it("have windows in all layers but each sixth, or those of the pattern or of layer_types", () => {
      const layers = (more: object) => gemma({ num_hidden_layers: 6, ...more }).window?.layers;
      expect(layers({})).toEqual([true, true, true, true, true, false]);
      expect(layers({ sliding_window_pattern: 2 })).toEqual([true, false, true, false, true, false]);
      const types = ["full_attention", ...Array(5).fill("sliding_attention")];
      expect(layers({ layer_types: types })).toEqual([false, true, true, true, true, true]);
      for (const wrong of [0, "x", 1.5]) {
        expect(() => layers({ sliding_window_pattern: wrong })).toThrow(/sliding_window_pattern/);
      }
    });

    it("and its query scale belong to no other family", () => {
      expect(gemma({ query_pre_attn_scalar: 64 }).queryScale).toBe(Math.sqrt(256 / 64));
      expect(readDecoderConfig({ ...tinyConfig, query_pre_attn_scalar: 64 }).queryScale).toBeUndefined();
    });
  });

  it("that are no objects or not finite are refused", () => {
    for (const wrong of [
      { rope_scaling: "linear" },
      { rope_scaling: [1] },
      { rope_parameters: 0 },
      { rope_theta: Infinity },
    ]) {
      expect(() => rope(wrong)).toThrow(expect.objectContaining({ code: "model.malformed" }));
    }
  });

  it("that differ by type of layer are refused", () => {
    const nested = { full_attention: { rope_type: "yarn", factor: 2 }, sliding_attention: { rope_type: "default" } };
    expect(() => rope({ rope_parameters: nested })).toThrow(expect.objectContaining({ code: "model.unsupported" }));
  });
});
