import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readPeftAdapter, writePeftAdapter } from "../../trainers/model-folders/weights/peft-adapter.ts";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../trainers/model-folders/weights/safetensors-writer.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const layer = "model.layers.0.self_attn.q_proj";
const a: TensorToWrite = { name: `${layer}.lora_A.weight`, shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) };
const b: TensorToWrite = { name: `${layer}.lora_B.weight`, shape: [4, 2], data: new Float32Array(8).fill(0.5) };
const down = "model.layers.1.mlp.down_proj";
const more: TensorToWrite[] = [
  { name: `${down}.lora_A.weight`, shape: [2, 5], data: new Float32Array(10).fill(1) },
  { name: `${down}.lora_B.weight`, shape: [1, 2], data: Float32Array.of(7, 8) },
];
const config = { rank: 2, alpha: 4, targets: ["down_proj", "q_proj"], baseModel: "owner/base" };
const plain = { peft_type: "LORA", r: 2, lora_alpha: 4, target_modules: ["q_proj"], bias: "none" };

/** Writes an adapter folder in PEFT's form. */
async function adapterFolder(json: unknown, tensors: readonly TensorToWrite[] = [a, b]) {
  const folder = temporaryFolder();
  await writeFile(path.join(folder, "adapter_config.json"), JSON.stringify(json));
  await writeSafetensors(
    path.join(folder, "adapter_model.safetensors"),
    tensors.map((tensor) => ({ ...tensor, name: `base_model.model.${tensor.name}` })),
  );
  return folder;
}

describe("a PEFT adapter", () => {
  it("is read back unchanged", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "new", "adapter");
    await writePeftAdapter({ folder, config, tensors: [a, b, ...more] });
    const adapter = await readPeftAdapter(folder);
    expect(adapter.config).toEqual(config);
    const expected = [a, b, ...more].map(({ name, shape, data }) => [name, { shape, data }]);
    expect(Object.fromEntries(adapter.tensors)).toEqual(Object.fromEntries(expected));
  });

  it("has PEFT's names and options", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "adapter");
    await writePeftAdapter({ folder, config, tensors: [a, b] });
    expect((await readdir(folder)).toSorted()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    await using weights = await openWeights(path.join(folder, "adapter_model.safetensors"));
    expect(weights.names).toEqual([`base_model.model.${a.name}`, `base_model.model.${b.name}`]);
    expect(JSON.parse(await readFile(path.join(folder, "adapter_config.json"), "utf8"))).toMatchObject({
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      r: 2,
      lora_alpha: 4,
      target_modules: ["down_proj", "q_proj"],
      base_model_name_or_path: "owner/base",
      bias: "none",
    });
  });

  it("derives its targets from its weights, however the config selects them", async () => {
    const folder = await adapterFolder({ ...plain, target_modules: "all-linear" }, [a, b, ...more]);
    expect((await readPeftAdapter(folder)).config).toEqual({ rank: 2, alpha: 4, targets: config.targets });
  });

  it("with rank-stabilised scaling has the alpha that gives the same scale", async () => {
    const folder = await adapterFolder({ ...plain, use_rslora: true });
    const { rank, alpha } = (await readPeftAdapter(folder)).config;
    expect(alpha / rank).toBeCloseTo(4 / Math.sqrt(2), 12);
  });

  it.each([
    { use_dora: true },
    { bias: "all" },
    { modules_to_save: ["lm_head"] },
    { rank_pattern: { q_proj: 4 } },
    { alpha_pattern: { q_proj: 4 } },
    { lora_bias: true },
    { init_lora_weights: "pissa" },
    { alora_invocation_tokens: [1, 2] },
    { use_qalora: true },
    { arrow_config: { top_k: 2 } },
    { key_of_a_later_version: true },
    { peft_type: "IA3" },
    { peft_type: undefined },
  ])("with %o is refused", async (option) => {
    const folder = await adapterFolder({ ...plain, ...option });
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({
      code: "model.unsupported",
      message: expect.stringContaining(Object.keys(option)[0]!),
    });
  });

  it("with options at their defaults is accepted", async () => {
    const defaults = {
      modules_to_save: null,
      rank_pattern: {},
      alpha_pattern: {},
      use_dora: false,
      init_lora_weights: true,
      megatron_config: null,
      lora_bias: false,
      target_parameters: null,
      alora_invocation_tokens: null,
      qalora_group_size: 16,
      megatron_core: "megatron.core",
      loftq_config: {},
      layers_to_transform: [0],
      peft_version: "0.21.2",
    };
    const folder = await adapterFolder({ ...plain, ...defaults });
    expect((await readPeftAdapter(folder)).tensors.size).toBe(2);
  });

  it.each([
    ["lm_head", "lm_head.lora_A.weight"],
    ["embed_tokens", "model.embed_tokens.lora_embedding_A"],
    ["embed_tokens", "model.embed_tokens.base_layer.weight"],
    ["wte", "transformer.wte.lora_embedding_B"],
  ])("on %s is refused, with the hint to merge it", async (layer, name) => {
    const folder = await adapterFolder(plain, [a, b, { ...a, name }]);
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({
      code: "model.unsupported",
      message: expect.stringContaining(layer),
      hint: expect.stringContaining("merge_and_unload"),
    });
  });

  it.each([
    ["no half B", [a], /lacks.*lora_B/],
    ["no half A", [b], /lacks.*lora_A/],
    ["another rank", [{ ...a, shape: [3, 2] }, b], /rank 2/],
    ["a half that is no matrix", [{ ...a, shape: [6] }, b], /rank 2/],
    ["a weight that is none of LoRA's", [a, b, { ...a, name: "model.norm.weight" }], /not the name/],
    ["nothing", [], /no LoRA weights/],
  ])("with %s is malformed", async (_, tensors, reason) => {
    const folder = await adapterFolder(plain, tensors);
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringMatching(reason),
    });
  });

  it.each([{ r: 0 }, { r: 1.5 }, { r: "2" }, { lora_alpha: null }])("with %o is malformed", async (option) => {
    const folder = await adapterFolder({ ...plain, ...option });
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({ code: "model.malformed" });
  });

  it("that does not exist is missing", async () => {
    const folder = temporaryFolder();
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("adapter_config.json"),
    });
    await writeFile(path.join(folder, "adapter_config.json"), JSON.stringify(plain));
    await expect(readPeftAdapter(folder)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("adapter_model.safetensors"),
    });
  });

  it("never overwrites existing files, and is never incomplete", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "precious");
    await writeFile(file, "kept");
    const failed = { code: "checkpoint.write-failed" };
    const early = { ...a, data: () => Promise.reject(new Error("made for nothing")) };
    await expect(writePeftAdapter({ folder, config, tensors: [early] })).rejects.toMatchObject(failed);
    await expect(writePeftAdapter({ folder: file, config, tensors: [early] })).rejects.toMatchObject(failed);
    const broken = { ...a, data: () => Promise.reject(new Error("no data")) };
    const target = path.join(folder, "adapter");
    await expect(writePeftAdapter({ folder: target, config, tensors: [broken] })).rejects.toThrow("no data");
    expect(await readdir(folder)).toEqual(["precious"]);
  });
});
