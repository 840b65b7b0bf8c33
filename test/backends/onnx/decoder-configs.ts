/** One small config of each family and option that the engine builds, with random weights large enough to matter. */
const base = {
  vocab_size: 29,
  hidden_size: 16,
  intermediate_size: 20,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-5,
  initializer_range: 0.3,
};

export const decoderConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "llama, tied, grouped queries": { ...base, model_type: "llama", tie_word_embeddings: true },
  "llama, untied, one key head per query head, stretched positions": {
    ...base,
    model_type: "llama",
    num_key_value_heads: 4,
    rope_theta: 100,
    rope_scaling: {
      rope_type: "llama3",
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 64,
    },
  },
  "llama with every bias": { ...base, model_type: "llama", attention_bias: true, mlp_bias: true },
  "qwen2, one key head": { ...base, model_type: "qwen2", num_key_value_heads: 1, tie_word_embeddings: true },
  "qwen3, heads wider than the model": { ...base, model_type: "qwen3", head_dim: 6 },
  "smollm3, a layer without positions": {
    ...base,
    model_type: "smollm3",
    no_rope_layer_interval: 2,
    tie_word_embeddings: true,
  },
};
