/** The `config.json` of published models, as far as a plan reads it, with their number of parameters. */
export const shapes = {
  "Qwen3-0.6B": {
    parameters: 596_049_920,
    config: {
      ...{ model_type: "qwen3", vocab_size: 151_936, hidden_size: 1024, num_hidden_layers: 28, head_dim: 128 },
      ...{ num_attention_heads: 16, num_key_value_heads: 8, intermediate_size: 3072, tie_word_embeddings: true },
    },
  },
  "SmolLM2-135M": {
    parameters: 134_515_008,
    config: {
      ...{ model_type: "llama", vocab_size: 49_152, hidden_size: 576, num_hidden_layers: 30 },
      ...{ num_attention_heads: 9, num_key_value_heads: 3, intermediate_size: 1536, tie_word_embeddings: true },
    },
  },
  "Llama-3-8B": {
    parameters: 8_030_261_248,
    config: {
      ...{ model_type: "llama", vocab_size: 128_256, hidden_size: 4096, num_hidden_layers: 32 },
      ...{ num_attention_heads: 32, num_key_value_heads: 8, intermediate_size: 14_336, tie_word_embeddings: false },
    },
  },
  "Qwen2.5-0.5B": {
    parameters: 494_032_768,
    config: {
      ...{ model_type: "qwen2", vocab_size: 151_936, hidden_size: 896, num_hidden_layers: 24 },
      ...{ num_attention_heads: 14, num_key_value_heads: 2, intermediate_size: 4864, tie_word_embeddings: true },
    },
  },
  "GPT-2": {
    parameters: 124_439_808,
    config: { model_type: "gpt2", vocab_size: 50_257, n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024 },
  },
} as const;
