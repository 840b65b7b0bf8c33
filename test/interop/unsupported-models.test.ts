import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { torchPython } from "./torch-python.ts";

/** What the PyTorch worker must refuse when it opens a model, because its sampling would fail or be wrong. */

const python = await torchPython();
let torch: TrainingBackend;
beforeAll(async () => {
  torch = await createTorchBackend({ python, device: "cpu", threads: 1 });
});
afterAll(() => torch?.close());

const width = { vocab_size: 263, hidden_size: 32, num_hidden_layers: 2, max_position_embeddings: 128 };
const attention = { intermediate_size: 64, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8 };
const shape = { ...width, ...attention, pad_token_id: null, bos_token_id: null, eos_token_id: null };
const states = { mamba_n_heads: 8, mamba_d_head: 8, mamba_d_state: 4 };

const open = (config: object) =>
  torch.openModel({ source: { type: "scratch", config: config as never, seed: 1 }, trainable: { type: "frozen" } });

describe("a model is refused when it opens", () => {
  it.each<[string, object, RegExp]>([
    ["mamba", { ...width, state_size: 4 }, /layers of the type linear_attention/],
    ["mamba2", { ...width, state_size: 4, num_heads: 8, head_dim: 8, n_groups: 1 }, /linear_attention/],
    ["falcon_h1", { ...shape, mamba_d_ssm: 32, mamba_n_heads: 4, mamba_d_head: 8, mamba_d_state: 4 }, /hybrid/],
    ["jamba", { ...shape, attn_layer_period: 2, attn_layer_offset: 1, num_experts: 2 }, /linear_attention/],
    ["lfm2", { ...shape, layer_types: ["conv", "full_attention"] }, /conv/],
    ["bamba", { ...shape, ...states }, /linear_attention/],
    ["recurrent_gemma", { ...shape, lru_width: 32 }, /linear_attention/],
    ["granitemoehybrid", { ...shape, ...states, layer_types: ["mamba", "attention"] }, /linear_attention/],
    ["rwkv", { ...width, attention_hidden_size: 32 }, /keys and values/],
    ["xlm", shape, /keys and values/],
    ["bloom", { ...width, n_layer: 2, n_head: 4 }, /its cache has failed/],
    ["trocr", shape, /other values/],
    ["bert", shape, /not causal/],
    ["bart", { ...shape, d_model: 32 }, /cache/],
    ["t5", {}, /T5Config'> for this kind of AutoModel: AutoModelForCausalLM\.$/],
  ])("%s", async (model_type, config, reason) => {
    await expect(open({ model_type, ...config })).rejects.toMatchObject({
      code: "model.unsupported",
      message: expect.stringMatching(reason),
    });
  });

  it("if its code is in its folder, which is not run", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-remote-code-"));
    const map = { AutoConfig: "own.Config", AutoModelForCausalLM: "own.Model" };
    await writeFile(join(folder.path, "config.json"), JSON.stringify({ model_type: "own", auto_map: map }));
    await writeFile(join(folder.path, "own.py"), `open(${JSON.stringify(join(folder.path, "ran"))}, "w")`);
    await writeFile(join(folder.path, "model.safetensors"), "");
    const source = { type: "pretrained", path: folder.path } as const;
    const error: unknown = await torch.openModel({ source, trainable: { type: "frozen" } }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: expect.stringMatching(/^model\./) });
  });
});

describe("a model of a family with other layers too opens", () => {
  it.each<[string, object]>([
    ["lfm2", { ...shape, layer_types: ["full_attention", "full_attention"] }],
    [
      "granitemoehybrid",
      { ...shape, ...states, layer_types: ["attention", "attention"], num_experts_per_tok: 1, num_local_experts: 2 },
    ],
    ["bert", { ...shape, is_decoder: true }],
    ["gpt_oss", { ...shape, num_local_experts: 4, num_experts_per_tok: 2, sliding_window: 8 }],
  ])("%s, with attention in each layer", async (model_type, config) => {
    const model = await open({ model_type, ...config });
    await model.close();
  });
});
