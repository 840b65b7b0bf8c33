import type { Architecture } from "./architecture.ts";

const llama: Architecture = {
  className: "LlamaForCausalLM",
  body: "model",
  embedding: "embed_tokens",
  blocks: "layers",
  finalNorm: "norm",
  norm: "rms",
  attention: {
    norm: "input_layernorm",
    inputs: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    inputBias: "attention_bias",
    output: "self_attn.o_proj",
    outputBias: "attention_bias",
  },
  mlp: {
    norm: "post_attention_layernorm",
    inputs: ["mlp.gate_proj", "mlp.up_proj"],
    gated: true,
    output: "mlp.down_proj",
    bias: "mlp_bias",
  },
  transposed: false,
  defaults: {
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-6,
    hidden_act: "silu",
    initializer_range: 0.02,
    rope_theta: 10_000,
    tie_word_embeddings: false,
  },
};

const qwen2: Architecture = {
  ...llama,
  className: "Qwen2ForCausalLM",
  attention: { ...llama.attention, inputBias: true },
  window: "from max_window_layers",
};

const qwen3: Architecture = {
  ...llama,
  className: "Qwen3ForCausalLM",
  attention: { ...llama.attention, headNorms: { queries: "self_attn.q_norm", keys: "self_attn.k_norm" } },
  window: "from max_window_layers",
};

const smollm3: Architecture = {
  ...llama,
  className: "SmolLM3ForCausalLM",
  window: "layers without positions",
  defaults: { ...llama.defaults, rope_theta: 2_000_000, tie_word_embeddings: true, no_rope_layer_interval: 4 },
};

/** Radford et al. 2019, "Language Models are Unsupervised Multitask Learners". */
const gpt2: Architecture = {
  className: "GPT2LMHeadModel",
  body: "transformer",
  embedding: "wte",
  positionEmbedding: "wpe",
  blocks: "h",
  finalNorm: "ln_f",
  norm: "layer",
  attention: {
    norm: "ln_1",
    inputs: ["attn.c_attn"],
    inputBias: true,
    output: "attn.c_proj",
    outputBias: true,
  },
  mlp: { norm: "ln_2", inputs: ["mlp.c_fc"], gated: false, output: "mlp.c_proj", bias: true, expansion: 4 },
  transposed: true,
  keys: {
    hidden_size: "n_embd",
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    intermediate_size: "n_inner",
    max_position_embeddings: "n_positions",
    rms_norm_eps: "layer_norm_epsilon",
    hidden_act: "activation_function",
  },
  defaults: {
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-5,
    hidden_act: "gelu_new",
    initializer_range: 0.02,
    tie_word_embeddings: true,
  },
  fixed: { scale_attn_weights: true, scale_attn_by_inverse_layer_idx: false, add_cross_attention: false },
};

/** Lozhkov et al. 2024, https://arxiv.org/abs/2402.19173. */
const starcoder2: Architecture = {
  ...llama,
  className: "Starcoder2ForCausalLM",
  norm: "layer",
  attention: { ...llama.attention, inputBias: "use_bias", outputBias: "use_bias" },
  mlp: {
    norm: "post_attention_layernorm",
    inputs: ["mlp.c_fc"],
    gated: false,
    output: "mlp.c_proj",
    bias: "use_bias",
  },
  window: "every layer",
  keys: { rms_norm_eps: "norm_epsilon" },
  defaults: {
    ...llama.defaults,
    max_position_embeddings: 4096,
    rms_norm_eps: 1e-5,
    hidden_act: "gelu_pytorch_tanh",
    initializer_range: 0.018042,
    tie_word_embeddings: true,
    use_bias: true,
  },
};

/** Jiang et al. 2023, https://arxiv.org/abs/2310.06825. */
const mistral: Architecture = {
  ...llama,
  className: "MistralForCausalLM",
  attention: { ...llama.attention, inputBias: false, outputBias: false },
  mlp: { ...llama.mlp, bias: false },
  window: "every layer",
  defaults: {
    ...llama.defaults,
    max_position_embeddings: 131_072,
    num_key_value_heads: 8,
    sliding_window: 4096,
  },
};

/** Abdin et al. 2024, https://arxiv.org/abs/2404.14219. */
const phi3: Architecture = {
  ...llama,
  className: "Phi3ForCausalLM",
  attention: { ...llama.attention, inputs: ["self_attn.qkv_proj"], inputBias: false, outputBias: false },
  mlp: { ...llama.mlp, inputs: ["mlp.gate_up_proj"], bias: false },
  window: "every layer",
  defaults: { ...llama.defaults, max_position_embeddings: 4096, rms_norm_eps: 1e-5 },
};

/** Gemma Team 2025, https://arxiv.org/abs/2503.19786: the models without images. */
const gemma3: Architecture = {
  ...llama,
  className: "Gemma3ForCausalLM",
  norm: "rms-offset",
  scaledEmbedding: true,
  windowRope: true,
  attention: {
    ...llama.attention,
    headNorms: { queries: "self_attn.q_norm", keys: "self_attn.k_norm" },
    outputNorm: "post_attention_layernorm",
  },
  mlp: { ...llama.mlp, norm: "pre_feedforward_layernorm", bias: false, outputNorm: "post_feedforward_layernorm" },
  window: "by sliding_window_pattern",
  keys: { hidden_act: "hidden_activation" },
  defaults: {
    ...llama.defaults,
    max_position_embeddings: 131_072,
    num_key_value_heads: 4,
    head_dim: 256,
    hidden_act: "gelu_pytorch_tanh",
    rope_theta: 1_000_000,
    rope_local_base_freq: 10_000,
    sliding_window: 4096,
    sliding_window_pattern: 6,
    query_pre_attn_scalar: 256,
    tie_word_embeddings: true,
  },
  fixed: { attn_logit_softcapping: null, final_logit_softcapping: null, use_bidirectional_attention: false },
};

/** A `model_type` of `config.json` that the engine builds. */
export type DecoderFamily =
  | "llama"
  | "qwen2"
  | "qwen3"
  | "smollm3"
  | "mistral"
  | "phi3"
  | "gemma3_text"
  | "gpt2"
  | "starcoder2";

/** The table of each family. */
export const architectures: Readonly<Record<DecoderFamily, Architecture>> = {
  llama,
  qwen2,
  qwen3,
  smollm3,
  mistral,
  phi3,
  gemma3_text: gemma3,
  gpt2,
  starcoder2,
};
