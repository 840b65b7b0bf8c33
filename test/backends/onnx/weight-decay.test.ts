import { describe, expect, it } from "vitest";
import { adamWStep, createAdamState, isDecayed } from "../../../trainers/backends/onnx/engine/adamw.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { valueHeadParameters } from "../../../trainers/backends/onnx/models/value-head.ts";
import { architectures, type DecoderFamily } from "../../../trainers/model-folders/architecture/architectures.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { loraParameters } from "../../../trainers/model-folders/architecture/lora-layers.ts";
import { decoderParameters, type ParameterSpec } from "../../../trainers/model-folders/architecture/parameters.ts";

const shape = {
  vocab_size: 300,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-5,
  attention_bias: true,
  mlp_bias: true,
  tie_word_embeddings: false,
};
const gpt2Shape = { vocab_size: 300, n_embd: 16, n_layer: 1, n_head: 2, n_positions: 32 };
const configOf = (family: DecoderFamily) =>
  readDecoderConfig({ model_type: family, ...(family === "gpt2" ? gpt2Shape : shape) });

/** The parameters of one block that transformers does not decay, by `Trainer.get_decay_parameter_names`. */
const rmsNorms = ["input_layernorm.weight", "post_attention_layernorm.weight"];
const llamaBiases = ["q_proj", "k_proj", "v_proj", "o_proj"].map((name) => `self_attn.${name}.bias`);
const mlpBiases = ["gate_proj", "up_proj", "down_proj"].map((name) => `mlp.${name}.bias`);
const notDecayed: Record<DecoderFamily, { readonly block: readonly string[]; readonly last: readonly string[] }> = {
  llama: { block: [...rmsNorms, ...llamaBiases, ...mlpBiases], last: ["model.norm.weight"] },
  qwen2: { block: [...rmsNorms, ...llamaBiases, ...mlpBiases], last: ["model.norm.weight"] },
  qwen3: {
    block: [...rmsNorms, "self_attn.q_norm.weight", "self_attn.k_norm.weight", ...llamaBiases, ...mlpBiases],
    last: ["model.norm.weight"],
  },
  smollm3: { block: [...rmsNorms, ...llamaBiases, ...mlpBiases], last: ["model.norm.weight"] },
  mistral: { block: rmsNorms, last: ["model.norm.weight"] },
  phi3: { block: rmsNorms, last: ["model.norm.weight"] },
  gemma3_text: {
    block: [
      ...rmsNorms,
      "pre_feedforward_layernorm.weight",
      "post_feedforward_layernorm.weight",
      "self_attn.q_norm.weight",
      "self_attn.k_norm.weight",
      ...llamaBiases,
    ],
    last: ["model.norm.weight"],
  },
  gpt2: {
    block: ["ln_1", "ln_2"]
      .flatMap((norm) => [`${norm}.weight`, `${norm}.bias`])
      .concat(["attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.bias", "mlp.c_proj.bias"]),
    last: ["transformer.ln_f.weight", "transformer.ln_f.bias"],
  },
  starcoder2: {
    block: ["input_layernorm", "post_attention_layernorm"]
      .flatMap((norm) => [`${norm}.weight`, `${norm}.bias`])
      .concat(llamaBiases, ["mlp.c_fc.bias", "mlp.c_proj.bias"]),
    last: ["model.norm.weight", "model.norm.bias"],
  },
};

const names = (specs: readonly ParameterSpec[]): string[] => specs.map(({ name }) => name).toSorted();

describe.each(Object.keys(architectures) as DecoderFamily[])("%s", (family) => {
  it("decays all parameters except biases and norms", () => {
    const config = configOf(family);
    const specs = decoderParameters(config);
    const { body, blocks } = config.architecture;
    const wanted = [
      ...notDecayed[family].block.map((name) => `${body}.${blocks}.0.${name}`),
      ...notDecayed[family].last,
    ];
    const present = wanted.filter((name) => specs.some((spec) => spec.name === name));
    expect(names(specs.filter((spec) => !isDecayed(spec)))).toEqual(present.toSorted());
    expect(present.length).toBeGreaterThan(2);
    expect(names(specs.filter(isDecayed))).toContain(`${body}.${config.architecture.embedding}.weight`);
  });

  it("decays both halves of adapters, and the weights of a value head", () => {
    const config = configOf(family);
    expect(loraParameters(config, { rank: 2 }).filter((spec) => !isDecayed(spec))).toEqual([]);
    expect(names(valueHeadParameters(config).filter((spec) => !isDecayed(spec)))).toEqual(["value_head.bias"]);
  });
});

it("subtracts the learning rate times the weight decay from a matrix, and nothing from a bias", () => {
  const specs = [
    { name: "a.weight", shape: [2, 2], initial: "normal" },
    { name: "a.bias", shape: [2], initial: "zeros" },
  ] as const;
  const weights = new ParameterBlock(specs, Float32Array.of(1, 2, 3, 4, 5, 6));
  const gradient = specs.map(({ name }) => ({ names: [name], gradient: new Float32Array(weights.view(name).length) }));
  const params = { learningRate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.5 };
  adamWStep({ weights, gradient, state: createAdamState(6), params, scale: 1 });
  expect(weights.data).toEqual(Float32Array.of(0.95, 1.9, 2.85, 3.8, 5, 6));
});
