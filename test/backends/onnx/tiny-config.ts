/** A decoder small enough to train in milliseconds, over the byte tokenizer. */
export const tinyConfig = {
  model_type: "llama",
  vocab_size: 263,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  tie_word_embeddings: true,
  initializer_range: 0.2,
};
